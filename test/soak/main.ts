// `npm run soak`: an even load for a long time, and the router's memory minute by minute. Ends with 1 when at the end it
// needs more than a tenth above what it needed after five minutes, when a request failed, or when the books are wrong.
// What it needs is what is resident once its garbage is collected: V8 leaves garbage lying for as long as there is room.
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
/** Less would leave nothing to compare. */
const minutes = Math.max(7, Number(values.minutes));
const perSecond = Number(values["per-second"]);
const images = Number(values.images);
/** Whose memory the end is compared with; after each so many minutes it is looked at. */
const SETTLED_MINUTE = 5;
const MOST_GROWTH = 1.1;
/** Looks a minute; the middle one of them counts. */
const LOOKS = 12;
/** A hold whose request was lost lasts as long as its lease, and the grace. */
const RESOLVED_MS = 900_000;

const upstream = await startUpstream({ tokenDelayMs: 5, imageDelayMs: 100 });
const inspector = await freePort();
const router = await startRouter("all-in-one", {
  env: {
    ...upstream.env,
    ...inspectable(inspector),
    // As the bootstrap and the image have it; a router of the tests is started without either.
    MALLOC_ARENA_MAX: "2",
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
    console.log(`without garbage: ${told(memory)}`);
  }
}
const sent = await load.end();
// What failed after it was sent may be billed, and is our loss.
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
console.log(`${sent.length} requests; without garbage at minute ${SETTLED_MINUTE} ${told(settled)}`);
console.log(`at the end ${told(last)}: ${((growth - 1) * 100).toFixed(1)} % more`);
const failed = sent.some(({ status }) => status !== 200);
process.exitCode = growth > MOST_GROWTH || failed || books.problems.length > 0 ? 1 : 0;

function told({ resident, heap, external }: Memory): string {
  return `${resident.toFixed(0)} MB resident, ${heap.toFixed(1)} MB of objects, ${external.toFixed(1)} MB beside them`;
}
