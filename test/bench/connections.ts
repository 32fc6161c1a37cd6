// `npm run bench:connections` measures the descriptors and memory of a router under crowds that only hold connections:
// readers of a large file that do not read, and silent clients. Beside them one customer sends requests, which must
// succeed. Linux only.
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "@gr/testing";
import { call } from "../e2e/http.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { collectedMemory, inspectable } from "./heap-of.ts";
import { quantile } from "./load.ts";
import { residentMegabytes } from "./processes.ts";
import { type Crowd, gather } from "./targets/gather-crowd.ts";

const FILE_BYTES = 17 * 1024 * 1024;
const FILE = `${"ab".repeat(20)}.mp4`;
/** Wait after which stalled downloads are cut (30 to 60 s). */
const AFTERWARDS_MS = 75_000;
/** Wait until all connections of a disconnected crowd are closed. */
const GONE_MS = 5_000;
const REQUEST_EVERY_MS = 250;

/** Requests text over one persistent connection, like an SDK. */
function startCustomer(router: Router) {
  const times: number[] = [];
  let failures = 0;
  let running = true;
  const body = {
    model: "sandbox/chat",
    max_tokens: 4,
    messages: [{ role: "user", content: "hi #tokens=2" }],
  };
  const work = async () => {
    while (running) {
      const from = performance.now();
      const ok = await call(router, "POST", "/v1/compat/chat/completions", { body }).then(
        ({ status }) => status === 200,
        () => false,
      );
      times.push(performance.now() - from);
      if (!ok) failures += 1;
      await sleep(REQUEST_EVERY_MS);
    }
  };
  const done = work();
  return async () => {
    running = false;
    await done;
    return { requests: times.length, failures, p99: quantile(times, 0.99) };
  };
}

/** Resources of the router: connections of its port, descriptors in all, resident memory in MB. */
type Held = readonly [connections: number, descriptors: number, megabytes: number];

async function heldBy({ pid, baseUrl }: Router): Promise<Held> {
  const port = Number(new URL(baseUrl).port).toString(16).toUpperCase().padStart(4, "0");
  const established = new RegExp(`^ *\\d+: [0-9A-F]+:${port} [0-9A-F:]+ 01 `, "gm");
  const sockets = await readFile(`/proc/${pid}/net/tcp`, "utf8");
  const descriptors = await readdir(`/proc/${pid}/fd`);
  return [sockets.match(established)?.length ?? 0, descriptors.length, residentMegabytes(pid)];
}

/** Records the maximum of each, every second. */
function watchMost(router: Router) {
  let most: Held = [0, 0, 0];
  let watching = true;
  const watch = async () => {
    while (watching) {
      const now = await heldBy(router);
      most = most.map((value, index) => Math.max(value, now[index] ?? 0)) as unknown as Held;
      await sleep(1_000);
    }
  };
  const done = watch();
  return async () => {
    watching = false;
    await done;
    return most;
  };
}

const formatted = (held: Held) => held.map((value) => value.toFixed(0)).join(" / ");

/** Yields a row for each visit of the crowd to the same router. */
async function* measure(kind: "idle" | "reader", count: number, times: number): AsyncGenerator<string> {
  const inspector = await freePort();
  const env = { ...inspectable(inspector), RATE_LIMIT_DOWNLOADS_PER_SECOND: "0" };
  const router = await startRouter("all-in-one", { env });
  try {
    const folder = join(router.dataDir, "media", FILE.slice(0, 2));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, FILE), Buffer.alloc(FILE_BYTES));
    for (let time = 1; time <= times; time += 1) {
      const { objects } = await withoutGarbage(router, inspector);
      const figures = await endure(router, gather(kind, `${router.baseUrl}/media/${FILE}`, count));
      const after = await withoutGarbage(router, inspector);
      const who = kind === "idle" ? "clients that say nothing" : "readers that do not read";
      const name = `${count} ${who}${time === 1 ? "" : ", again"}`;
      yield `| ${[name, ...figures, `${after.resident} (${objects} → ${after.objects})`].join(" | ")} |`;
    }
  } finally {
    await router.dispose();
  }
}

/** Returns the router's resources before, with and after the crowd, and the results of its customer. */
async function endure(router: Router, crowd: Crowd): Promise<string[]> {
  const before = await heldBy(router);
  const stop = startCustomer(router);
  const watched = watchMost(router);
  await crowd.opened();
  await sleep(2_000);
  const most = await watched();
  await sleep(AFTERWARDS_MS);
  const later = await heldBy(router);
  crowd.leave();
  const { requests, failures, p99 } = await stop();
  await sleep(GONE_MS);
  return [
    formatted(before),
    formatted(most),
    formatted(later),
    `${requests - failures} of ${requests}`,
    p99.toFixed(0),
  ];
}

/** Returns MB: resident memory, and JavaScript's objects in it, including their buffers. */
async function withoutGarbage({ pid }: Router, inspector: number) {
  const { resident, heap, external } = await collectedMemory(pid, inspector);
  return { resident: resident.toFixed(0), objects: (heap + external).toFixed(0) };
}

console.log(
  "| crowd | connections / descriptors / MB before | at most | 75 s later | the customer's requests answered | p99, ms | MB without garbage (of objects, before → after) |",
);
console.log("|---|--:|--:|--:|--:|--:|--:|");
for await (const row of measure("reader", Number(process.argv[2] ?? 10_000), 2)) console.log(row);
for await (const row of measure("idle", Number(process.argv[3] ?? 20_000), 1)) console.log(row);
