// `npm run bench:connections`: what a router holds, in descriptors and memory, under crowds that only hold connections: readers
// of a large file that do not read, and clients that say nothing. Beside them one customer, whose requests must succeed.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { call } from "../e2e/http.ts";
import { type Router, startRouter } from "../e2e/topology.ts";
import { quantile } from "./load.ts";
import { residentMegabytes } from "./processes.ts";

const CROWD = fileURLToPath(new URL("./crowd.ts", import.meta.url));
/** A process has so many descriptors at most. */
const OF_ONE_PROCESS = 5_000;
const FILE_BYTES = 17 * 1024 * 1024;
const FILE = `${"ab".repeat(20)}.mp4`;
/** Downloads that stand still are cut after 30 s. */
const AFTERWARDS_MS = 45_000;
const REQUEST_EVERY_MS = 250;

interface Crowd {
  opened(): Promise<void>;
  open(): Promise<number>;
  leave(): void;
}

function gather(kind: "idle" | "reader", url: string, count: number): Crowd {
  const children: ChildProcess[] = [];
  for (let left = count; left > 0; left -= OF_ONE_PROCESS) {
    children.push(fork(CROWD, [kind, url, String(Math.min(left, OF_ONE_PROCESS))]));
  }
  const ready = children.map((child) => once(child, "message"));
  return {
    opened: async () => void (await Promise.all(ready)),
    open: async () => {
      const counts = children.map(async (child) => {
        const answer = once(child, "message");
        child.send("how many");
        const [{ open }] = (await answer) as [{ open: number }];
        return open;
      });
      return (await Promise.all(counts)).reduce((sum, open) => sum + open, 0);
    },
    leave: () => {
      for (const child of children) child.disconnect();
    },
  };
}

/** Text over one connection that is kept, as an SDK's is. */
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

const descriptors = async (pid: number) => (await readdir(`/proc/${pid}/fd`)).length;

async function measure(kind: "idle" | "reader", count: number): Promise<string> {
  const router = await startRouter("all-in-one", { env: { RATE_LIMIT_DOWNLOADS_PER_SECOND: "0" } });
  try {
    const folder = join(router.dataDir, "media", FILE.slice(0, 2));
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, FILE), Buffer.alloc(FILE_BYTES));
    const look = async () => [await descriptors(router.pid), residentMegabytes(router.pid).toFixed(0)];
    const before = await look();
    const stop = startCustomer(router);
    const crowd = gather(kind, `${router.baseUrl}/media/${FILE}`, count);
    await crowd.opened();
    await sleep(2_000);
    const [held, open] = [await look(), await crowd.open()];
    await sleep(AFTERWARDS_MS);
    const [later, left] = [await look(), await crowd.open()];
    crowd.leave();
    const { requests, failures, p99 } = await stop();
    const name = kind === "idle" ? "clients that say nothing" : "readers that do not read";
    const cells = [`${count} ${name}`, before.join(" / "), open, held.join(" / "), left, later.join(" / ")];
    return `| ${[...cells, `${requests - failures} of ${requests}`, p99.toFixed(0)].join(" | ")} |`;
  } finally {
    await router.dispose();
  }
}

console.log(
  "| crowd | descriptors / MB before | let in | descriptors / MB | 45 s later | descriptors / MB | the customer's requests answered | p99, ms |",
);
console.log("|---|--:|--:|--:|--:|--:|--:|--:|");
console.log(await measure("reader", Number(process.argv[2] ?? 10_000)));
console.log(await measure("idle", Number(process.argv[3] ?? 20_000)));
