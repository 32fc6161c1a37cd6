// The facts are the figures of README, in docs/facts.json. Each part has the date, the commit and the machine of its
// measurement. README shows them in one block, which `npm run facts` writes.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../scripts/tool.ts";

const FACTS = join(ROOT, "docs/facts.json");
const README = join(ROOT, "README.md");
const BEGIN = "<!-- facts: written by `npm run facts` -->";
const END = "<!-- end of facts -->";

export interface Origin {
  readonly date: string;
  readonly commit: string;
  readonly machine: string;
  /** Load of the machine by other programs at the start: processes that ran or waited, mean of a minute. */
  readonly load: number;
}

export interface Crashes extends Origin {
  /** Rounds with exact books. In each round every process is killed once. */
  readonly rounds: number;
  readonly kills: number;
  /** Answers under this load. */
  readonly answers: number;
}

export interface Prices extends Origin {
  /** Requests with another price, held against the bill of their provider. */
  readonly checked: number;
  readonly models: number;
  readonly providers: number;
}

export interface Tests extends Origin {
  readonly quick: number;
  readonly deep: number;
}

/** Processor time in µs of a request, by the number of connections. */
export type ChatCost = Readonly<Record<string, number>>;

export interface Chat extends Origin {
  readonly micros: ChatCost;
}

export interface Peers extends Origin {
  /** By the name of the contestant, this router among them. */
  readonly micros: Readonly<Record<string, ChatCost>>;
}

export interface Facts {
  readonly crashes?: Crashes;
  readonly prices?: Prices;
  readonly tests?: Tests;
  readonly chat?: Chat;
  readonly peers?: Peers;
}

export async function readFacts(): Promise<Facts> {
  const text = await readFile(FACTS, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
    return "{}";
  });
  return JSON.parse(text) as Facts;
}

/** Writes the file, and the block of README. */
export async function writeFacts(facts: Facts): Promise<void> {
  await writeFile(FACTS, `${JSON.stringify(facts, null, 2)}\n`);
  await writeFile(README, withBlock(await readFile(README, "utf8"), facts));
}

/** Returns the text of README with the block of these facts. @throws Error if README has no block */
export function withBlock(readme: string, facts: Facts): string {
  const start = readme.indexOf(BEGIN);
  const end = readme.indexOf(END);
  if (start < 0 || end < start) throw new Error(`README.md has no lines ${BEGIN} and ${END}`);
  return `${readme.slice(0, start)}${BEGIN}\n${blockOf(facts)}\n${readme.slice(end)}`;
}

function blockOf({ crashes, prices, tests, chat, peers }: Facts): string {
  const rows = [
    ...(crashes === undefined ? [] : [rowOf("Books survive crashes", crashText(crashes), crashes)]),
    ...(prices === undefined ? [] : [rowOf("Prices are right", priceText(prices), prices)]),
    ...(chat === undefined || peers !== undefined
      ? []
      : [timedRowOf("Processor time", chatText(chat), chat)]),
    ...(peers === undefined ? [] : [timedRowOf("Processor time", peersText(peers), peers)]),
    ...(tests === undefined ? [] : [rowOf("Tests", testText(tests), tests)]),
  ];
  return ["| claim | measurement | date, commit, machine |", "|---|---|---|", ...rows].join("\n");
}

const rowOf = (name: string, text: string, { date, commit, machine }: Origin) =>
  `| ${name} | ${text} | ${date}, \`${commit}\`, ${machine} |`;
/** Load above which processor times are not those of a quiet machine. */
const QUIET = 2;
const timedRowOf = (name: string, text: string, origin: Origin) =>
  rowOf(name, text, {
    ...origin,
    machine: origin.load > QUIET ? `${origin.machine}, busy: load ${origin.load}` : origin.machine,
  });
const plain = (count: number) => count.toLocaleString("en-US");

const crashText = ({ rounds, kills, answers }: Crashes) =>
  `${rounds} of ${rounds} rounds with \`kill -9\` of every process, ${kills} kills among ${plain(answers)} answers. Afterwards the sum of all bills of the providers is exactly the cost of the charged answers plus the losses in the books, in units of 1e-12 USD`;
const priceText = ({ checked, models, providers }: Prices) =>
  `${plain(checked)} of ${plain(checked)} requests to ${models} models at simulated providers, which bill by ${providers} real price lists: the charge is at least the bill, and at most the quote`;
const chatText = ({ micros }: Chat) =>
  `${COST}: ${costText(micros)}, with keys, limits, durable money and log on`;
const testText = ({ quick, deep }: Tests) =>
  `${plain(quick)} pass in \`npm test\`, ${plain(deep)} in \`npm run test:deep\``;

const COST = "One chat request, PostgreSQL included";

function peersText({ micros }: Peers): string {
  const figures = Object.entries(micros).map(([name, cost]) => `${capitalized(name)}: ${costText(cost)}`);
  return `${COST}. ${figures.join(". ")}`;
}

const capitalized = (name: string) => name.slice(0, 1).toUpperCase() + name.slice(1);

function costText(cost: ChatCost): string {
  const figures = Object.entries(cost).map(([connections, micros]) => `${micros} µs at ${connections}`);
  return `${figures.join(", ")} connections`;
}
