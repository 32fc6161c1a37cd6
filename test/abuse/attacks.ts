// The attacks: texts that are expensive to read, bodies that are expensive to parse, headers, and small pictures with
// many pixels. An attack is compared with a harmless request of the same size, so each maker has a harmless
// counterpart.
import sharp from "sharp";

/** Characters of a text within a body. Quadratic code needs a second for them, linear code some milliseconds. */
export const TEXT_CHARACTERS = 60_000;
/** Characters of a header: Node refuses more than 16 KiB for all headers. */
export const HEADER_CHARACTERS = 15_000;
const BODY_CHARACTERS = 400_000;
const SIDE = 7_000;

/** Texts of a member of a body, by their fault. */
export const TEXTS: Readonly<Record<string, string>> = {
  spaces: ` ${" ".repeat(TEXT_CHARACTERS)}a`,
  "equals signs": `${"=".repeat(TEXT_CHARACTERS)}a`,
  slashes: `https://a.example/${"/".repeat(TEXT_CHARACTERS)}a`,
  "padding of base64": `data:image/png;base64,${"=".repeat(TEXT_CHARACTERS)}A`,
  "spaces in base64": `data:image/png;base64,${" ".repeat(TEXT_CHARACTERS)}A`,
  zeros: `0.${"0".repeat(TEXT_CHARACTERS)}a`,
  "one letter": "a".repeat(TEXT_CHARACTERS),
};

export const harmlessText = (characters: number) =>
  "Waves come in at dawn, slowly. ".repeat(Math.ceil(characters / 31)).slice(0, characters);

export const HEADERS = [
  ...["accept", "accept-encoding", "authorization", "content-type", "cookie", "if-none-match", "if-range"],
  ...["idempotency-key", "origin", "prefer", "range", "stripe-signature", "traceparent", "x-max-cost"],
] as const;

/** Values of a header, by their fault. */
export const HEADER_VALUES: Readonly<Record<string, string>> = {
  "spaces within": `a${" ".repeat(HEADER_CHARACTERS)}b`,
  commas: ",".repeat(HEADER_CHARACTERS),
};

/** Whole bodies, by their fault; `{}` becomes the members of a good body. */
export const BODIES: Readonly<Record<string, string>> = {
  "nested lists": `{"x":${"[".repeat(BODY_CHARACTERS / 2)}${"]".repeat(BODY_CHARACTERS / 2)}}`,
  "nested objects": `{"x":${'{"a":'.repeat(BODY_CHARACTERS / 6)}1${"}".repeat(BODY_CHARACTERS / 6)}}`,
  "many members": `{${Array.from({ length: BODY_CHARACTERS / 10 }, (_, index) => `"m${index}":1`).join(",")}}`,
  "one member often": `{${'"model":1,'.repeat(BODY_CHARACTERS / 10)}"model":1}`,
  "many elements": `{"x":[${"{},".repeat(BODY_CHARACTERS / 3)}1]}`,
  "a backslash often": `{"x":"${"\\\\".repeat(BODY_CHARACTERS / 2)}"}`,
};

export const harmlessBody = `{"x":"${harmlessText(BODY_CHARACTERS)}"}`;

const BOUNDARY = "abuse";
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`;

export function formOf(parts: readonly (readonly [name: string, text: string])[]): string {
  const text = parts.map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return `${text.join("")}--${BOUNDARY}--\r\n`;
}

/** Forms, by their fault. */
export const FORMS: Readonly<Record<string, string>> = {
  "many parts": formOf(
    Array.from({ length: BODY_CHARACTERS / 70 }, (_, index): [string, string] => [`m${index}`, "1"]),
  ),
  "a boundary that never comes": `--${BOUNDARY}\r\nContent-Disposition: form-data; name="x"\r\n\r\n${"\r\n--abus".repeat(BODY_CHARACTERS / 8)}`,
};

export const harmlessForm = formOf([["x", harmlessText(BODY_CHARACTERS)]]);

/** A data URI of 38 bytes with 49 megapixels: a larger body is read only after the credit was checked. */
export const manyPixels = async () => dataUri(SIDE);

export const fewPixels = async () => dataUri(64);

/** A picture with a good header and without its end: only the decoder refuses it. */
export async function damagedPicture(): Promise<string> {
  const whole = await blank(64);
  return uriOf(whole.subarray(0, whole.length - 4));
}

const dataUri = async (side: number) => uriOf(await blank(side));

const uriOf = (webp: Buffer) => `data:image/webp;base64,${webp.toString("base64")}`;

function blank(side: number): Promise<Buffer> {
  const picture = sharp({ create: { width: side, height: side, channels: 3, background: "#777777" } });
  return picture.webp({ lossless: true, effort: 0 }).toBuffer();
}
