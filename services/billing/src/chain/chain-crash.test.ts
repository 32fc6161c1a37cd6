// The crash ring: three processes write to the same accounts while they are killed and cut off. Afterwards an independent checker
// proves the rows, and every acknowledged operation is among them.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { STEP_KINDS } from "@gr/ledger";
import { isDistributedRun, until, warmStart } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { chainProblems, countSteps, cutConnections, storedKinds } from "../test/chain/chain-checker-store.ts";
import { followersOn } from "../test/chain/chain-reads.ts";
import { ChainRig } from "../test/chain/chain-rig.ts";
import { newCrashAccount, openingOf } from "../test/chain/crash-load.ts";
import { type CrashLog, type CrashSettings, readLog, textOf } from "../test/chain/crash-log.ts";
import { countFollowed } from "../test/chain/follower-store.ts";
import { killWorker, moveShard, rebalance } from "../test/chain/shards-store.ts";
import type { ChainOperation } from "./chain-operation.ts";

const { STEPS, KILLS, CUTS } = byDepth({
  quick: { STEPS: 1_500, KILLS: 1, CUTS: 2 },
  deep: { STEPS: 60_000, KILLS: 24, CUTS: 24 },
});
/** Events of a distributed ledger: workers that are killed, and shards that move while the writers write. */
const [LOSSES, MOVES] = isDistributedRun() ? [3, 4] : [0, 0];
const WRITERS = 3;
const ACCOUNTS = 20;
const PATIENCE_MS = 3_600_000;
/** A count reads the whole table. */
const COUNT_EACH_MS = 250;
const ENTRY = fileURLToPath(new URL("../test/chain/crash-writer.ts", import.meta.url));

let rig: ChainRig;
let folder: string;
const children = new Map<number, ChildProcess>();
beforeAll(async () => {
  rig = await ChainRig.start();
  folder = await mkdtemp(join(tmpdir(), "generation-router-crash-"));
});
afterAll(async () => {
  for (const child of children.values()) child.kill("SIGKILL");
  await rig?.stop();
  await rm(folder, { recursive: true, force: true });
});

const logFile = (writer: number) => join(folder, `${writer}.log`);

async function kill(writer: number): Promise<void> {
  const child = children.get(writer);
  if (child === undefined || child.exitCode !== null) throw new Error("A writer has ended by itself.");
  child.kill("SIGKILL");
  await once(child, "exit");
}

test(
  "three writers that are killed and cut off lose nothing, overrun nothing and end no hold twice",
  async () => {
    const random = new Random(20_261_126);
    const accounts = Array.from({ length: ACCOUNTS }, newCrashAccount);
    const setUp = await rig.writer({ clock: { now: () => Date.now() } });
    await setUp.post(...accounts.flatMap(openingOf));
    const startedAt = Date.now();
    let starts = 0;
    const start = (writer: number) => {
      starts += 1;
      const settings: CrashSettings = {
        url: rig.url,
        logFile: logFile(writer),
        accounts,
        startedAt,
        seed: starts,
      };
      const env = { ...warmStart(), CRASH_SETTINGS: textOf(settings) };
      const stdio = ["ignore", "ignore", "inherit", "ipc"] as const;
      children.set(writer, spawn(process.execPath, [ENTRY], { env, stdio: [...stdio] }));
    };
    for (let writer = 0; writer < WRITERS; writer += 1) {
      // A writer can be killed before it opens its log.
      await writeFile(logFile(writer), "");
      start(writer);
    }

    const reach = (steps: number) =>
      until(async () => (await countSteps(rig.pool)) >= steps, {
        timeoutMs: PATIENCE_MS,
        pauseMs: COUNT_EACH_MS,
      });
    let cut = 0;
    const events = random.shuffled([
      ...Array(KILLS).fill("kill"),
      ...Array(CUTS).fill("cut"),
      ...Array(LOSSES).fill("loss"),
      ...Array(MOVES).fill("move"),
    ]);
    for (const [index, event] of events.entries()) {
      await reach((STEPS * (index + 1)) / (events.length + 1));
      if (event === "kill") {
        const writer = random.below(WRITERS);
        await kill(writer);
        start(writer);
      } else if (event === "loss") await killWorker(rig.pool, random);
      else if (event === "move") await moveShard(rig.pool, index);
      else cut += await cutConnections(rig.pool);
    }
    await rebalance(rig.pool);
    await reach(STEPS);
    for (let writer = 0; writer < WRITERS; writer += 1) await kill(writer);

    const logs: CrashLog[] = [];
    for (let writer = 0; writer < WRITERS; writer += 1)
      logs.push(readLog(await readFile(logFile(writer), "utf8")));
    await followersOn(rig.pool).catchUp();
    expect(await chainProblems(rig.pool)).toEqual([]);
    expect(await countFollowed(rig.pool)).toBeGreaterThan(0);
    expect(logs.flatMap(({ faults }) => faults)).toEqual([]);
    const stored = await storedKinds(rig.pool);
    const lost = logs.flatMap((log) => lostOperations(log, stored));
    const answered = logs.flatMap((log) => log.answered.flatMap(({ codes }) => codes));
    const counts = Object.entries(Object.groupBy(answered, (code) => code)).map(
      ([code, all]) => `${code} ${all?.length}`,
    );
    process.stdout.write(
      `crash ring: ${await countSteps(rig.pool)} steps, ${answered.length} answers, ${KILLS + WRITERS} kills, ${cut} cuts; ${counts.join(", ")}\n`,
    );
    expect(lost).toEqual([]);
    expect(answered.filter((code) => code === "out_of_range" || code === "invalid_parent")).toEqual([]);
    expect(answered.filter((code) => code === "done").length).toBeGreaterThan(STEPS / 4);
  },
  PATIENCE_MS,
);

/** Kinds of the steps of which one must be stored if the operation is done. */
const PROOFS: Readonly<Record<string, readonly (keyof typeof STEP_KINDS)[]>> = {
  place: ["place"],
  capture: ["capture"],
  release: ["release", "abandon"],
  keep: ["keep"],
  deposit: ["deposit"],
  adjustment: ["adjustment"],
  lease: ["lease"],
  budget: ["budget"],
};

/** @returns operations that were acknowledged and have no step, and later operations on acknowledged holds that found none */
function lostOperations({ answered }: CrashLog, stored: ReadonlySet<string>): string[] {
  const lost: string[] = [];
  const placedAt = new Map<string, number>();
  for (const { call, codes, sentAt, answeredAt } of answered) {
    for (const [index, operation] of call.entries()) {
      const id = idOf(operation);
      const code = codes[index];
      const proofs = PROOFS[operation.kind] ?? [];
      const isStored = proofs.some((kind) => stored.has(`${id} ${STEP_KINDS[kind]}`));
      if (code === "done" && proofs.length > 0 && !isStored) lost.push(`lost ${operation.kind} ${id}`);
      if (code === "done" && operation.kind === "place") placedAt.set(id, placedAt.get(id) ?? answeredAt);
      const wasPlaced = (placedAt.get(id) ?? Number.POSITIVE_INFINITY) < sentAt;
      if (code === "unknown_hold" && operation.kind !== "keep" && wasPlaced)
        lost.push(`unknown ${operation.kind} ${id}`);
    }
  }
  return lost;
}

function idOf(operation: ChainOperation): string {
  if ("holdId" in operation) return operation.holdId;
  if ("id" in operation) return operation.id;
  return operation.kind === "budget" ? operation.definition.id : operation.accountId;
}
