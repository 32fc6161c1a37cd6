// Memory of a media process for videos: two thousand that wait for their provider, and twenty large ones that arrive
// at once, by URL and as base64, for waiting clients. Prints its measurements; run with: npm run bench:videos, with
// the parts `-- waiting` and `-- large`.
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, request } from "undici";
import { benchRing, memoryOf } from "./bench-ring.ts";
import type { MediaChild } from "./crash-ring.ts";
import type { ScriptEntry } from "./scripted-server.ts";
import { mp4Of } from "./videos.ts";

/** Both parts, unless the command names one. */
const PARTS = process.argv.length > 2 ? process.argv.slice(2) : ["waiting", "large"];
const WAITING = Number(process.env["BENCH_WAITING"] ?? 2_000);
const ASKED_PER_SECOND = 100;
const WAIT_MS = 10_000;
const AT_ONCE = 20;
const MB = 1024 * 1024;
const LARGE_MB = 100;
/** Size of the base64 videos, which have a limit of their own. */
const LARGE_BASE64_MB = 60;
const CHUNK = Buffer.alloc(MB / 4, 7);

const { ring, stop } = await benchRing({ VIDEO_TIMEOUT_MS: "300000", MEDIA_LEASE_MS: "30000" });
const agent = new Agent({ pipelining: 1, headersTimeout: 300_000, bodyTimeout: 300_000 });
try {
  if (PARTS.includes("waiting")) process.stdout.write(await waiting(await ring.startChild()));
  if (PARTS.includes("large")) {
    process.stdout.write(await large(await ring.startChild(), "url", LARGE_MB));
    process.stdout.write(await large(await ring.startChild(), "b64_json", LARGE_BASE64_MB));
    process.stdout.write(await large(await ring.startChild(), "b64_ephemeral", LARGE_BASE64_MB));
  }
} finally {
  await agent.close();
  await stop();
}

/** A queue that holds its jobs until the bench finishes them, and the file of their output. */
function queue(file: ScriptEntry) {
  const state = { jobs: 0, polls: 0, done: false };
  ring.upstream.play((response, received) => {
    ring.upstream.requests.length = 0;
    const json = (body: object) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    if (received.path.startsWith("/file")) {
      if (typeof file === "function") return file(response, received);
      response.writeHead(file.status, { "content-type": "video/mp4" }).end(file.body);
      return;
    }
    if (received.method === "POST") {
      state.jobs += 1;
      json({ job: String(state.jobs) });
      return;
    }
    state.polls += 1;
    json(state.done ? { urls: [`${ring.upstream.url}/file`] } : {});
  });
  return state;
}

/** @returns its status, or why there was none */
async function ask({ url }: MediaChild, responseFormat = "url"): Promise<string> {
  try {
    const { statusCode, body } = await request(`${url}/v1/compat/videos/generations`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "sandbox/video", prompt: "a fox", response_format: responseFormat }),
      dispatcher: agent,
    });
    await body.dump({ limit: Number.MAX_SAFE_INTEGER });
    return String(statusCode);
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

async function waiting(child: MediaChild): Promise<string> {
  const before = await memoryOf(child.pid, "now");
  const state = queue({ status: 200, body: mp4Of() });
  const answers: Promise<string>[] = [];
  const began = performance.now();
  while (answers.length < WAITING) {
    const due = Math.min(WAITING, ((performance.now() - began) / 1_000) * ASKED_PER_SECOND);
    while (answers.length < due) answers.push(ask(child));
    await sleep(10);
  }
  await settle(() => state.jobs);
  await sleep(WAIT_MS);
  const polls = state.polls;
  await sleep(WAIT_MS);
  const pollsPerSecond = ((state.polls - polls) * 1_000) / WAIT_MS;
  const meanwhile = await memoryOf(child.pid, "now");
  const submitted = state.jobs;
  state.done = true;
  const statuses = tally(await Promise.all(answers));
  const after = await memoryOf(child.pid, "now");
  const peak = await memoryOf(child.pid, "peak");
  await child.kill();
  return (
    `${submitted} of ${WAITING} waiting: ${before} MB before, ${meanwhile} MB while they wait, ${peak} MB at the peak, ` +
    `${after} MB afterwards; ${pollsPerSecond.toFixed(0)} polls a second; answered ${statuses}\n`
  );
}

async function large(child: MediaChild, responseFormat: string, megabytes: number): Promise<string> {
  const before = await memoryOf(child.pid, "now");
  const bytes = megabytes * MB;
  const state = queue(async (response) => {
    response.writeHead(200, { "content-type": "video/mp4", "content-length": bytes });
    const head = mp4Of();
    response.write(head);
    for (let sent = head.length; sent < bytes; sent += CHUNK.length) {
      const rest = CHUNK.subarray(0, Math.min(CHUNK.length, bytes - sent));
      if (!response.write(rest)) await new Promise((resolve) => response.once("drain", resolve));
    }
    response.end();
  });
  state.done = true;
  const began = performance.now();
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(child, responseFormat)));
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const peak = await memoryOf(child.pid, "peak");
  await child.kill();
  return (
    `${AT_ONCE} videos of ${megabytes} MB at once, ${responseFormat}: ${before} MB before, ${peak} MB at the peak, ` +
    `${seconds} s; answered ${tally(answers)}\n`
  );
}

/** Until a number does not grow any more. */
async function settle(count: () => number): Promise<void> {
  for (let last = -1; last !== count(); await sleep(2_000)) last = count();
}

function tally(answers: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const answer of answers) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  return [...counts].map(([answer, count]) => `${count} × ${answer}`).join(", ");
}
