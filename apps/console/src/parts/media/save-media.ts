// Saves a file of the page on the computer, and a hosted picture or video also as the input of a next request.

/** @throws Error if the file is gone */
export async function fetchMedia(url: string, name: string): Promise<File> {
  const response = await fetch(url);
  if (!response.ok) throw new Error("The file is no longer available.");
  const blob = await response.blob();
  return new File([blob], `${name}.${endingOf(blob.type)}`, { type: blob.type });
}

/** Offers the hosted file for download. @param name without an ending */
export async function saveMedia(url: string, name: string): Promise<void> {
  offerFile(await fetchMedia(url, name));
}

export function offerFile(file: File): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = file.name;
  link.click();
  URL.revokeObjectURL(address);
}

const endingOf = (type: string) => type.replace(/^.*\//, "").replace("jpeg", "jpg");
