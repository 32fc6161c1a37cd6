// Crash writer is the program of one process in the crash ring. It writes each call to its log before it sends it, and the codes
// after; after a kill it sends the last call again until there is an answer.
import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import type { Outcome } from "@gr/ledger";
import { createLogger, pause } from "@gr/runtime";
import { Random } from "@gr/testing/random";
import { ChainConnection } from "../../chain/chain-connection.ts";
import type { ChainOperation } from "../../chain/chain-operation.ts";
import { LedgerWriter } from "../../writer/ledger-writer.ts";
import { recentHolds } from "./chain-checker-store.ts";
import { followersOn } from "./chain-reads.ts";
import { poolOn } from "./chain-rig.ts";
import { type CrashAccount, type CrashMemory, crashClock, nextCall } from "./crash-load.ts";
import { type CrashSettings, parsed, readLog, textOf } from "./crash-log.ts";

/** Calls of one process at the same time. */
const CALLERS = 3;
const RETRY_MS = 20;
const FOLLOW_MS = 50;

/** The test may have ended before this program began. */
let running = process.connected;
process.once("disconnect", () => {
  running = false;
});

const settings = parsed(process.env["CRASH_SETTINGS"] ?? "{}") as CrashSettings;
const { url, logFile, accounts, startedAt, seed } = settings;
const random = new Random(seed);
const pool = await poolOn(url);
const log = createLogger("silent", "crash");
const clock = crashClock(startedAt);
const connection = new ChainConnection({ pool, clock, freeLimit: 50, log, cacheBytes: 2_000_000 });
const events = { committed: () => undefined, triedAgain: () => undefined };
const writer = new LedgerWriter<ChainOperation, Outcome>(connection, events);
const memory: CrashMemory = { holds: new Map(), calls: [] };

const unanswered = existsSync(logFile) ? readLog(readFileSync(logFile, "utf8")).unanswered : [];
const file = openSync(logFile, "a");
// A line that a kill has cut stays alone.
const write = (line: string) => writeSync(file, `\n${line}\n`);
let count = 0;

async function send(call: readonly ChainOperation[]): Promise<void> {
  count += 1;
  const id = `${process.pid}-${count}`;
  write(`call ${id} ${textOf(call)}`);
  await sendUntilAnswered(id, call);
}

async function sendUntilAnswered(id: string, call: readonly ChainOperation[]): Promise<void> {
  while (running) {
    try {
      const outcomes = await writer.post(call);
      write(`done ${id} ${JSON.stringify(outcomes.map(({ code }) => code))}`);
      return;
    } catch (error) {
      if ((error as { reason?: unknown }).reason !== "billing_unavailable") {
        write(`fault ${id} ${JSON.stringify(String((error as Error).stack))}`);
        return;
      }
      await pause(RETRY_MS);
    }
  }
}

async function callAgainAndAgain(mine: readonly CrashAccount[]): Promise<void> {
  while (running) {
    if (random.chance(0.2)) {
      const { accountId } = random.pick(mine);
      const known = memory.holds.get(accountId) ?? [];
      memory.holds.set(accountId, [...known, ...(await recentHolds(pool, accountId).catch(() => []))]);
    }
    await send(nextCall(random, mine, memory, clock.now()));
  }
}

/** Killed and cut off like the writer. */
async function followAgainAndAgain(): Promise<void> {
  const { catchUp } = followersOn(pool);
  while (running) {
    await catchUp().catch((error) => log.debug({ err: error }, "a round of the followers failed"));
    await pause(FOLLOW_MS);
  }
}

const following = followAgainAndAgain();
for (const { id, call } of unanswered) await sendUntilAnswered(id, call);
await Promise.all(Array.from({ length: CALLERS }, () => callAgainAndAgain(accounts)));
await following;
connection.close();
await pool.end();
