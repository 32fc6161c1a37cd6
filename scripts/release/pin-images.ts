// `npm run pin-images` writes the present digest of each foreign image into compose.yaml, deploy/ and the Dockerfile.
// With --check nothing is written, and an image without its registry's digest is an error.
import { glob, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT, ToolError } from "../tool.ts";
import { digestOf, imagesIn, pinned } from "./image-pins.ts";

const FILES = ["compose.yaml", "Dockerfile", "deploy/**/*.yaml"];

const isCheck = process.argv.includes("--check");
const texts = new Map<string, string>();
for await (const file of glob(FILES, { cwd: ROOT }))
  texts.set(file, await readFile(join(ROOT, file), "utf8"));
const images = new Map([...texts.values()].flatMap(imagesIn).map((image) => [image.text, image]));
const digests = new Map<string, string>();
for (const image of images.values()) {
  try {
    digests.set(image.text, await digestOf(image));
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    process.stderr.write(`${image.text} stays as it is: ${error.message}\n`);
    process.exitCode = 1;
  }
}
for (const [file, text] of texts) {
  const now = pinned(text, digests);
  if (now === text) continue;
  if (isCheck) {
    process.stderr.write(`${file} has another digest than the registry, or none.\n`);
    process.exitCode = 1;
  } else {
    await writeFile(join(ROOT, file), now);
    process.stdout.write(`${file} has new digests.\n`);
  }
}
process.stdout.write(`${digests.size} of ${images.size} images have a digest.\n`);
