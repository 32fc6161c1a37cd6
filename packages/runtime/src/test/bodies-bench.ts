// The bodies bench measures the cost of a JSON body of each shape: the longest block of the event loop, the peak
// memory, and the answer. Prints a table; run with: npm run bench:bodies [megabytes].

import { performance } from "node:perf_hooks";
import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ServiceError } from "@gr/proto";
import { readJsonBody } from "../bodies/json-body.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const MB = 1024 * 1024;
/** Bytes of a chunk, as sockets deliver them. */
const CHUNK = 64 * 1024;

const size = Number(process.argv[2] ?? 50) * MB;
const fill = (unit: string, before = "", after = "") =>
  Buffer.from(before + unit.repeat(Math.floor((size - 10) / Buffer.byteLength(unit))) + after);
const list = (count: number, item: (index: number) => string, before = "[", after = "]") =>
  Buffer.from(`${before}${Array.from({ length: count }, (_, index) => item(index)).join()}${after}`);
const padded = (characters: number) => "x".repeat(Math.max(0, characters));

const shapes: Record<string, () => Buffer> = {
  "one base64 string": () => fill("AbCd", '{"a":"', '"}'),
  "one string of escapes": () => fill("\\n", '{"a":"', '"}'),
  "one string of escaped quotes": () => fill('\\"', '{"a":"', '"}'),
  "one string of \\u escapes": () => fill("\\u00e9", '{"a":"', '"}'),
  "one string beyond ASCII": () => fill("é", '{"a":"', '"}'),
  "one string of emoji": () => fill("😀", '{"a":"', '"}'),
  "99,000 strings": () => list(99_000, () => `"${padded(size / 99_000 - 3)}"`),
  "19,000 long names": () => list(19_000, (index) => `"${padded(size / 19_000 - 12)}${index}":1`, "{", "}"),
  "49,000 objects": () => list(49_000, () => `{"a":"${padded(size / 49_000 - 9)}"}`),
  whitespace: () => fill(" ", "[", "1]"),
  "[ without end": () => fill("["),
  "{}, without end": () => fill("{},", "["),
  "unique names without end": () => {
    const members: string[] = [];
    for (let length = 1, index = 0; length < size; index += 1) {
      const member = `"${index.toString(36)}":1`;
      members.push(member);
      length += member.length + 1;
    }
    return Buffer.from(`{${members.join()}}`);
  },
  "digits without end": () => fill("1"),
};

/** Looks at every turn of the loop. Counts the thread's own time, so that other programs do not. */
function watchLoop() {
  let last = threadMs();
  let longest = 0;
  let peak = 0;
  let running = true;
  const look = () => {
    const now = threadMs();
    longest = Math.max(longest, now - last);
    peak = Math.max(peak, process.memoryUsage.rss());
    last = threadMs();
    if (running) setImmediate(look);
  };
  look();
  return () => {
    running = false;
    return { longest, peak };
  };
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

async function measure(
  bytes: Buffer,
): Promise<{ longest: number; total: number; peak: number; answer: string }> {
  collectGarbage();
  const before = process.memoryUsage.rss();
  const payload = Readable.from(chunksOf(bytes), { objectMode: false, highWaterMark: CHUNK });
  const request = {
    headers: { "content-length": String(bytes.length) },
    routeOptions: { bodyLimit: size + MB },
  } as unknown as Parameters<typeof readJsonBody>[0];
  const stop = watchLoop();
  const start = performance.now();
  const answer = await readJsonBody(request, payload, true).then(
    () => "read",
    (error: unknown) => (error instanceof ServiceError ? error.message : String(error)),
  );
  const total = performance.now() - start;
  const { longest, peak } = stop();
  payload.destroy();
  return { longest, total, peak: peak - before, answer };
}

async function* chunksOf(bytes: Buffer) {
  for (let at = 0; at < bytes.length; at += CHUNK) {
    // A copy, as each chunk from a socket is memory of its own.
    yield Buffer.from(bytes.subarray(at, at + CHUNK));
    await new Promise(setImmediate);
  }
}

console.log(
  "| body | MB | longest on the loop, ms | in all, ms | memory at the peak, MB | answer |\n|---|--:|--:|--:|--:|---|",
);
for (const [name, make] of Object.entries(shapes)) {
  const bytes = make();
  await measure(bytes.subarray(0, 1024));
  const { longest, total, peak, answer } = await measure(bytes);
  const figures = [bytes.length / MB, longest, total, peak / MB].map((figure) => figure.toFixed(1));
  console.log(`| ${name} | ${figures.join(" | ")} | ${answer} |`);
}
