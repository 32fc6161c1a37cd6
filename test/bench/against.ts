// `npm run bench:against -- <commit>` compares this tree with another one of this repository. Both run in turns of two
// seconds on one machine, and the costs of a chat request for the router, PostgreSQL and both are measured. Figures are
// of pairs of turns; a ratio above 1 means that this tree is more expensive. The other tree has its own packages, in
// .tools/.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "@gr/embedded";
import { startSimulator } from "@gr/simulator";
import { writeSource } from "../../scripts/release/last-release.ts";
import { ROOT, ToolError } from "../../scripts/tool.ts";
import { closedLoop, quantile } from "./load.ts";
import { cpuMicrosOfTree, cpuMicrosUnder, LOAD_CORE, pin, ROUTER_CORE } from "./processes.ts";
import { table } from "./table.ts";
import { appsOf, endChild, startRouterPinned } from "./targets/router.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 16);
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 2);
const CONNECTIONS = [1, 10, 64];
/** Seconds until both are compiled. */
const WARM_UP_SECONDS = 12;

interface Tree {
  readonly name: string;
  turn(connections: number, seconds: number): Promise<Turn>;
  close(): Promise<void>;
}

interface Turn {
  readonly router: number;
  readonly postgres: number;
  readonly sum: number;
  readonly p50: number;
}

async function main(commit: string): Promise<void> {
  pin(process.pid, LOAD_CORE);
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 0 });
  const trees: Tree[] = [];
  try {
    trees.push(await startTree(commit.slice(0, 12), await sourceOf(commit), simulator.url));
    trees.push(await startTree("this tree", ROOT, simulator.url));
    for (const tree of trees) await tree.turn(64, WARM_UP_SECONDS);
    for (const connections of CONNECTIONS) process.stdout.write(await compare(trees, connections));
  } finally {
    for (const tree of trees) await tree.close();
    await simulator.close();
  }
}

async function sourceOf(commit: string): Promise<string> {
  const folder = join(ROOT, ".tools", "sources", commit);
  if (!existsSync(folder)) {
    const draft = `${folder}.new`;
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true });
    await writeSource(commit, draft);
    await symlink(join(ROOT, ".tools"), join(draft, ".tools"));
    await rename(draft, folder);
  }
  const install = [join(folder, "scripts/bootstrap.mjs"), join(appsOf(folder), "cli/src/main.ts"), "--help"];
  execFileSync(process.execPath, install, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  return folder;
}

async function startTree(name: string, root: string, simulatorUrl: string): Promise<Tree> {
  const dataDir = await mkdtemp(join(tmpdir(), "bench-against-"));
  const postgres = await startPostgres({ dataDir: join(dataDir, "postgres"), durable: true });
  pin(postgres.pid, `${ROUTER_CORE},${LOAD_CORE}`);
  const start = startRouterPinned(name, { root, dataDir, simulatorUrl, databaseUrl: postgres.url });
  const { child, contestant } = await start.catch(async (error) => {
    await postgres.stop();
    throw error;
  });
  return {
    name,
    async turn(connections, seconds) {
      const before = [cpuMicrosUnder(contestant.pid), cpuMicrosOfTree(postgres.pid)] as const;
      const { requests, failures, p50 } = await closedLoop(contestant.target, connections, seconds);
      if (failures > 0)
        throw new ToolError(`${failures} of ${requests + failures} requests to ${name} failed`);
      const ofRouter = (cpuMicrosUnder(contestant.pid) - before[0]) / requests;
      const ofPostgres = (cpuMicrosOfTree(postgres.pid) - before[1]) / requests;
      return { router: ofRouter, postgres: ofPostgres, sum: ofRouter + ofPostgres, p50 };
    },
    async close() {
      await endChild(child);
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Compares in rounds; the first tree of a round alternates. */
async function compare(trees: readonly Tree[], connections: number): Promise<string> {
  const turns = new Map(trees.map(({ name }) => [name, [] as Turn[]]));
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = round % 2 === 0 ? trees : trees.toReversed();
    for (const tree of order) turns.get(tree.name)?.push(await tree.turn(connections, SECONDS));
  }
  const [other = [], ours = []] = trees.map(({ name }) => turns.get(name) ?? []);
  const rows = trees.map(({ name }) => ({ name, values: valuesAt(turns.get(name) ?? [], 0.5) }));
  const ratios = ours.map((turn, index) => {
    const { router, postgres, sum, p50 } = other[index] ?? turn;
    return {
      router: turn.router / router,
      postgres: turn.postgres / postgres,
      sum: turn.sum / sum,
      p50: turn.p50 / p50,
    };
  });
  for (const [name, at] of Object.entries({ "lower quartile": 0.25, median: 0.5, "upper quartile": 0.75 })) {
    rows.push({ name: `ratio, ${name}`, values: valuesAt(ratios, at) });
  }
  const columns = ["router µs/req", "PG µs/req", "sum µs/req", "p50 ms"];
  return table(`chat, not streamed, ${connections} connections, ${ROUNDS} pairs of turns`, columns, rows);
}

function valuesAt(turns: readonly Turn[], at: number): number[] {
  return (["router", "postgres", "sum", "p50"] as const).map((name) =>
    quantile(
      turns.map((turn) => turn[name]),
      at,
    ),
  );
}

try {
  const [commit] = process.argv.slice(2);
  if (commit === undefined || !/^[0-9a-f]{40}$/.test(commit)) {
    throw new ToolError("Give the whole id of the commit to compare with, 40 hexadecimal digits.");
  }
  await main(commit);
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
