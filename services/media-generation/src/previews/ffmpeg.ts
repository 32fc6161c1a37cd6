// Ffmpeg decodes videos that sharp cannot, if an operator configures the program. It runs in its own process, with no
// network, no files, no environment, and a time limit.
import { spawn } from "node:child_process";
import { buffer } from "node:stream/consumers";

/** A picture of 8K as PNG fits. */
const MOST_BYTES = 256 * 1024 * 1024;

/** @param film an MP4 with one picture. @returns the picture as PNG. @throws Error if the program cannot decode it */
export async function decodeWithFfmpeg(program: string, film: Buffer, timeoutMs: number): Promise<Buffer> {
  const asked = ["-v", "error", "-nostdin", "-protocol_whitelist", "pipe", "-threads", "1"];
  const output = ["-frames:v", "1", "-an", "-c:v", "png", "-f", "image2pipe", "pipe:1"];
  const child = spawn(program, [...asked, "-f", "mp4", "-i", "pipe:0", ...output], {
    env: {},
    timeout: timeoutMs,
    killSignal: "SIGKILL",
    stdio: ["pipe", "pipe", "pipe"],
  });
  const ended = new Promise<number | string>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve(code ?? signal ?? "unknown"));
  });
  // The program may close its input before the end.
  child.stdin.on("error", () => undefined);
  child.stdin.end(film);
  const [how, picture, errors] = await Promise.all([
    ended,
    bounded(child.stdout, () => child.kill("SIGKILL")),
    buffer(child.stderr),
  ]);
  if (how === 0 && picture.length > 0) return picture;
  throw new Error(`ffmpeg ended with ${how}: ${errors.toString("utf8").slice(0, 300).trim()}`);
}

async function bounded(stream: AsyncIterable<Buffer>, stop: () => void): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of stream) {
    bytes += piece.length;
    if (bytes > MOST_BYTES) stop();
    else pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
