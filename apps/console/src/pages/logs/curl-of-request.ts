// The curl command of an image or a video, with all stored parameters. Input pictures are not stored: an edit names files that the
// reader has to put there.
import type { GenerationRecord } from "@gr/console-api";

/** @param origin such as "https://router.example.com" */
export function curlOf(origin: string, { kind, model, request }: GenerationRecord): string {
  const { prompt, size, quality, seconds, audio, n, output_format, input_images: inputs = 0 } = request;
  const shape = kind === "video" ? { seconds, audio } : { n, output_format };
  const fields = { model, prompt, size, quality, ...shape };
  const known = Object.entries(fields).filter(([, value]) => value !== undefined);
  const head = (path: string) => [
    `curl ${origin}/v1/compat/${path}`,
    '  -H "Authorization: Bearer $API_KEY"',
  ];
  if (inputs === 0) {
    const body = JSON.stringify(Object.fromEntries(known));
    const parts = ['  -H "Content-Type: application/json"', `  -d ${quoted(body)}`];
    return [...head(`${kind}s/generations`), ...parts].join(" \\\n");
  }
  const path = kind === "video" ? "videos/generations" : "images/edits";
  const pictures = Array.from({ length: inputs }, (_, index) => `  -F "image[]=@input-${index + 1}.png"`);
  // Unlike -F, --form-string sends a value that begins with @ or < as it is.
  const parts = known.map(([name, value]) => `  --form-string ${quoted(`${name}=${value}`)}`);
  return [...head(path), ...parts, ...pictures].join(" \\\n");
}

/** In single quotes of a shell. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
