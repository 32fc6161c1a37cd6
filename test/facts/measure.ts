// Measurements of the facts: each runs tests or benches of this repository in a process of its own, and reads the
// figures that they print. A failed test is no figure.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../scripts/tool.ts";
import type { ChatCost, Crashes, Origin, Peers, Prices, Tests } from "./facts.ts";

const CRASH_ROUNDS = 5;
/** Name of this router in the tables of the bench. */
const ROUTER = "generation router, everything on";
/** Contestants of the bench that are no variants of this router. */
const PEERS = [ROUTER, "bare undici proxy", "Portkey"];
const CHAT_TITLE = /^chat, not streamed, closed loop, (\d+) connections$/;

export async function originNow(): Promise<Origin> {
  const git = (...words: string[]) => promisify(execFile)("git", words, { cwd: ROOT });
  const { stdout: commit } = await git("rev-parse", "--short=8", "HEAD");
  const [{ model = "unknown processor" } = {}] = cpus();
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: commit.trim(),
    machine: `${cpus().length} cores (${model.replaceAll(/\(R\)|\(TM\)|@.*$/g, "").trim()}), ${gigabytes} GB, Node ${process.versions.node}`,
    load: Number((loadavg()[0] ?? 0).toFixed(1)),
  };
}

export async function measureCrashes(): Promise<Omit<Crashes, keyof Origin>> {
  const output = await run(["scripts/test.ts", "--deep", "kill-services"], {
    CHAOS_ROUNDS: String(CRASH_ROUNDS),
  });
  const rounds = output
    .split("\n")
    .filter((line) => line.startsWith('{"seed":'))
    .map((line) => JSON.parse(line) as { victims: string; answers: Record<string, number> });
  if (rounds.length !== CRASH_ROUNDS) throw new Error(`the test printed ${rounds.length} rounds`);
  const sum = (of: (round: (typeof rounds)[number]) => number) =>
    rounds.reduce((total, round) => total + of(round), 0);
  return {
    rounds: rounds.length,
    kills: sum(({ victims }) => victims.split(" ").length),
    answers: sum(({ answers }) => Object.values(answers).reduce((total, count) => total + count, 0)),
  };
}

export async function measurePrices(): Promise<Omit<Prices, keyof Origin>> {
  const output = await run(["scripts/test.ts", "--deep", "test/prices/bills"]);
  const line = output.split("\n").find((text) => text.startsWith('{"checked":'));
  if (line === undefined) throw new Error("the test of prices printed no figures");
  return JSON.parse(line) as Omit<Prices, keyof Origin>;
}

/** Counts the tests without running one. */
export async function countTests(): Promise<Omit<Tests, keyof Origin>> {
  const folder = await mkdtemp(join(tmpdir(), "facts-"));
  const count = async (depth: readonly string[]) => {
    const file = join(folder, `${depth.length}.json`);
    const none = ["--testNamePattern", "^no test has this name$", "--json", "--outputFile", file];
    await run(["scripts/test.ts", ...depth, ...none, "--silent"]);
    return (JSON.parse(await readFile(file, "utf8")) as { numTotalTests: number }).numTotalTests;
  };
  try {
    return { quick: await count([]), deep: await count(["--deep"]) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export async function measureChat(): Promise<{ micros: ChatCost }> {
  const tables = readTables(await run(["test/bench/main.ts", "router"]));
  const micros = tables.get(ROUTER);
  if (micros === undefined) throw new Error("the bench printed no row of this router");
  return { micros };
}

export async function measurePeers(): Promise<Omit<Peers, keyof Origin>> {
  const tables = readTables(await run(["test/bench/main.ts", "text"]));
  const rows = [...tables].filter(([name]) => PEERS.some((peer) => name.startsWith(peer)));
  if (rows.length < PEERS.length) throw new Error("the bench printed no row of a peer");
  return { micros: Object.fromEntries(rows) };
}

/** Reads the first column of the tables of a chat, by contestant and number of connections. */
export function readTables(output: string): Map<string, ChatCost> {
  const costs = new Map<string, ChatCost>();
  let connections: string | undefined;
  for (const line of output.split("\n")) {
    const title = CHAT_TITLE.exec(line)?.[1];
    const [, name, micros] = /^(\S.*?) {2,}([\d.]+)\b/.exec(line) ?? [];
    if (title !== undefined || line === "") connections = title;
    else if (connections !== undefined && name !== undefined)
      costs.set(name, { ...costs.get(name), [connections]: Math.round(Number(micros)) });
  }
  return costs;
}

/** Runs an entry of this repository; its errors are shown. @returns the output. @throws Error if it fails */
async function run(words: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> {
  const child = spawn(process.execPath, words, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    output += piece;
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${words.join(" ")} ended with ${code}:\n${output}`);
  return output;
}
