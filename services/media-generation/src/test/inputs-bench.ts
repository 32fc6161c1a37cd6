// Memory of a media process for sixteen pictures of 20 MB: the peak of one such request after another, each
// in another form, sent on to a provider as a form. Prints a table; run with: npm run bench:inputs
import sharp from "sharp";
import { benchRing, memoryOf } from "./bench-ring.ts";
import { drawPicture } from "./pictures.ts";

const MB = 1024 * 1024;
const FILES = 16;
const ask = { model: "sandbox/image-edit", prompt: "a fox", response_format: "b64_ephemeral" };

/** Noise, which no format compresses. */
async function noise(format: "png" | "jpeg", side: number, tagged = false): Promise<Buffer> {
  const bytes = Buffer.alloc(side * side * 3);
  let state = 1;
  for (let at = 0; at < bytes.length; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = state >>> 24;
  }
  const drawn = sharp(bytes, { raw: { width: side, height: side, channels: 3 } });
  const turned = tagged ? drawn.withMetadata({ orientation: 6 }) : drawn;
  return format === "png"
    ? turned.png({ compressionLevel: 1 }).toBuffer()
    : turned.jpeg({ quality: 98, chromaSubsampling: "4:4:4" }).toBuffer();
}

const cases: [string, () => Promise<Buffer>][] = [
  ["PNG, passed on", () => noise("png", 2_570)],
  ["JPEG, passed on", () => noise("jpeg", 2_910)],
  ["JPEG lying on its side, drawn anew", () => noise("jpeg", 2_910, true)],
];

const { ring, stop } = await benchRing();
try {
  const answer = { data: [{ b64_json: (await drawPicture()).toString("base64") }] };
  for (const [name, draw] of cases) {
    const picture = await draw();
    const child = await ring.startChild();
    const before = await memoryOf(child.pid, "now");
    ring.upstream.play({ status: 200, body: answer });
    const form = new FormData();
    for (const [field, value] of Object.entries(ask)) form.append(field, value);
    for (let file = 0; file < FILES; file += 1) form.append("image[]", new Blob([new Uint8Array(picture)]));
    const started = performance.now();
    const response = await fetch(`${child.url}/v1/compat/images/edits`, { method: "POST", body: form });
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    const peak = await memoryOf(child.pid, "peak");
    const size = (picture.length / MB).toFixed(1);
    process.stdout.write(
      `${name}: ${FILES} × ${size} MB, ${response.status} after ${seconds} s; ${before} MB before, ${peak} MB at the peak\n`,
    );
    if (!response.ok) process.stdout.write(`${await response.text()}\n`);
    await child.kill();
    ring.upstream.requests.length = 0;
  }
} finally {
  await stop();
}
