// `npm run soak` sends an even load for a long time, and measures the router's memory minute by minute. It exits with 1
// if the memory at the end is more than a tenth above that after five minutes, if a request failed, or if the books are
// wrong. The memory is the resident one after a collection of garbage: V8 keeps garbage while there is space.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { creditsOf } from "@gr/money";
import { freePort } from "@gr/testing";
import { Random } from "@gr/testing/random";
import { collectedMemory, inspectable, type Memory } from "../bench/heap-of.ts";
import { residentMegabytes } from "../bench/processes.ts";
import { compareBooks } from "../chaos/compare-books.ts";
import { mintKey, openAccount } from "../chaos/customers.ts";
import { chat, image, startLoad, tally } from "../chaos/load.ts";
import { startUpstream } from "../chaos/upstream.ts";
import { startRouter } from "../e2e/topology.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "30" },
    "per-second": { type: "string", default: "200" },
    images: { type: "string", default: "0.02" },
    seed: { type: "string", default: "1" },
  },
});
/** A shorter run would have no minutes to compare. */
const minutes = Math.max(7, Number(values.minutes));
const perSecond = Number(values["per-second"]);
const images = Number(values.images);
/** Minute of the memory that the end is compared with; also the interval of measurements. */
const SETTLED_MINUTE = 5;
const MOST_GROWTH = 1.1;
/** Measurements a minute; the middle one of them counts. */
const LOOKS = 12;
/** Milliseconds of a hold of a lost request: its lease, and the grace. */
const RESOLVED_MS = 900_000;

const upstream = await startUpstream({ tokenDelayMs: 5, imageDelayMs: 100 });
const inspector = await freePort();
const router = await startRouter("all-in-one", {
  env: {
    ...upstream.env,
    ...inspectable(inspector),
    RATE_LIMIT_TEXT_PER_SECOND: "0",
  },
});
const secrets: string[] = [];
for (let customer = 0; customer < 10; customer += 1) {
  const account = await openAccount(router.dataDir, creditsOf("100000"));
  secrets.push((await mintKey(router.dataDir, account)).secret);
}
const random = new Random(Number(values.seed));
const load = startLoad(
  (index) => {
    const kind = random.next();
    const what = kind < images ? image(`image ${index}`) : chat(10 + random.below(50), kind < 0.5);
    const once = random.chance(0.2) ? { idempotencyKey: `order ${index}` } : {};
    return { ...what, ...once, baseUrl: router.baseUrl, secret: random.pick(secrets) };
  },
  { perSecond, most: minutes * 60 * perSecond, together: 256 },
);
const collected: Memory[] = [];
for (let minute = 1; minute <= minutes; minute += 1) {
  const looks: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    await sleep(60_000 / LOOKS);
    looks.push(residentMegabytes(router.pid));
  }
  const middle = looks.sort((one, other) => one - other)[LOOKS / 2] ?? 0;
  console.log(`minute ${minute}: ${middle.toFixed(0)} MB, ${load.sent.length} answers of ${load.started()}`);
  if (minute % SETTLED_MINUTE === 0 || minute === minutes) {
    const memory = await collectedMemory(router.pid, inspector);
    collected.push(memory);
    console.log(`without garbage: ${formatted(memory)}`);
  }
}
const sent = await load.end();
// A request that failed after its dispatch may be billed, and is our loss.
const refused = new Set(
  sent.filter(({ status = 0 }) => status >= 400 && status < 500).map(({ requestId }) => requestId),
);
const books = await compareBooks(router.dataDir, upstream, refused, RESOLVED_MS);
await router.dispose();
await upstream.close();

const [settled, last] = [collected[0], collected.at(-1)] as [Memory, Memory];
const growth = last.resident / settled.resident;
console.log(JSON.stringify(tally(sent)));
for (const { error } of sent)
  if (error !== undefined) console.log(`${error.type} ${error.code}: ${error.message}`);
console.log(books.summary);
for (const problem of books.problems) console.log(`PROBLEM ${problem}`);
console.log(`${sent.length} requests; without garbage at minute ${SETTLED_MINUTE} ${formatted(settled)}`);
console.log(`at the end ${formatted(last)}: ${((growth - 1) * 100).toFixed(1)} % more`);
const failed = sent.some(({ status }) => status !== 200);
process.exitCode = growth > MOST_GROWTH || failed || books.problems.length > 0 ? 1 : 0;

function formatted({ resident, heap, external }: Memory): string {
  return `${resident.toFixed(0)} MB resident, ${heap.toFixed(1)} MB of objects, ${external.toFixed(1)} MB beside them`;
}
