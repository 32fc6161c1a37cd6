// `npm run facts` measures the figures of README and writes docs/facts.json and README's block. `-- crashes`, `prices`,
// `tests` and `chat` measure one of them. `-- --peers` measures a chat beside other gateways, which it installs.
import { type Facts, readFacts, writeFacts } from "./facts.ts";
import {
  countTests,
  measureChat,
  measureCrashes,
  measurePeers,
  measurePrices,
  originNow,
} from "./measure.ts";

const PARTS = {
  crashes: measureCrashes,
  prices: measurePrices,
  tests: countTests,
  chat: measureChat,
  peers: measurePeers,
} as const;
type Part = keyof typeof PARTS;

const isPart = (word: string): word is Part => Object.hasOwn(PARTS, word);
const words = process.argv.slice(2).map((word) => word.replace(/^--/, ""));
const unknown = words.filter((word) => !isPart(word));
if (unknown.length > 0) {
  process.stderr.write(
    `There is no part ${unknown.join(", ")}; the parts are ${Object.keys(PARTS).join(", ")}.\n`,
  );
  process.exit(2);
}
const chosen: readonly Part[] =
  words.length > 0 ? words.filter(isPart) : ["crashes", "prices", "tests", "chat"];
for (const part of chosen) {
  const origin = await originNow();
  const figures = await PARTS[part]();
  const facts: Facts = { ...(await readFacts()), [part]: { ...origin, ...figures } };
  await writeFacts(facts);
  process.stdout.write(`${part}: ${JSON.stringify(figures)}\n`);
}
