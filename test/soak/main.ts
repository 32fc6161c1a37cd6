// `npm run soak`: an even load for a long time, and the router's memory minute by minute. Ends with 1 when at the end it
// needs more than a tenth above what it needed after five minutes, when a request failed, or when the books are wrong.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { creditsOf } from "@gr/money";
import { Random } from "@gr/testing/random";
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
/** Whose memory the end is compared with. */
const SETTLED_MINUTE = 5;
const MOST_GROWTH = 1.1;
/** Looks a minute; the middle one of them counts. */
const LOOKS = 12;
const RESOLVED_MS = 180_000;

const upstream = await startUpstream({ tokenDelayMs: 5, imageDelayMs: 100 });
const router = await startRouter("all-in-one", { env: { ...upstream.env, RATE_LIMIT_TEXT_PER_SECOND: "0" } });
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
const byMinute: number[] = [];
for (let minute = 1; minute <= minutes; minute += 1) {
  const looks: number[] = [];
  for (let look = 0; look < LOOKS; look += 1) {
    await sleep(60_000 / LOOKS);
    looks.push(residentMegabytes(router.pid));
  }
  const middle = looks.sort((one, other) => one - other)[LOOKS / 2] ?? 0;
  byMinute.push(middle);
  console.log(`minute ${minute}: ${middle.toFixed(0)} MB, ${load.sent.length} answers of ${load.started()}`);
}
const sent = await load.end();
// What failed after it was sent may be billed, and is our loss.
const refused = new Set(
  sent.filter(({ status = 0 }) => status >= 400 && status < 500).map(({ requestId }) => requestId),
);
const books = await compareBooks(router.dataDir, upstream, refused, RESOLVED_MS);
await router.dispose();
await upstream.close();

/** The middle one of this minute and its neighbours: a collection of garbage makes one of them look small. */
const around = (minute: number) =>
  byMinute.slice(Math.max(0, minute - 2), minute + 1).sort((one, other) => one - other)[1] ?? 0;
const settled = around(SETTLED_MINUTE);
const last = around(minutes - 1);
const growth = last / settled;
console.log(JSON.stringify(tally(sent)));
for (const { error } of sent)
  if (error !== undefined) console.log(`${error.type} ${error.code}: ${error.message}`);
console.log(books.summary);
for (const problem of books.problems) console.log(`PROBLEM ${problem}`);
console.log(
  `${sent.length} requests; ${settled.toFixed(0)} MB at minute ${SETTLED_MINUTE}, ${last.toFixed(0)} MB at the end: ${((growth - 1) * 100).toFixed(1)} % more`,
);
const failed = sent.some(({ status }) => status !== 200);
process.exitCode = growth > MOST_GROWTH || failed || books.problems.length > 0 ? 1 : 0;
