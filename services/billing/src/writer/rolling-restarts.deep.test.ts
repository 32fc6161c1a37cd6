// Three billing processes write to one account while each of them is replaced, one after the other. No request is lost or charged twice,
// and no limit is overrun. The test prints the lost races of two ways to choose a process.
import { type Outcome, OutcomeCode } from "@gr/proto/billing";
import { addressFor, systemClock } from "@gr/runtime";
import { testRedis } from "@gr/testing";
import { Random } from "@gr/testing/random";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import {
  type BillingProcess,
  type BillingUnderTest,
  dialProcesses,
  startBilling,
  startBillingOn,
} from "../test/start-billing.ts";
import { type OperationInit, openWallet, place, postOne, putSpender, type Wallet } from "../test/wallet.ts";

const PROCESSES = 3;
const PAIRS = 4_000;
/** Each process is replaced so often. */
const ROUNDS = 3;
const CALLERS = 24;
/** The limit of one of the two keys. It has half of the requests. */
const CAP = 1_000n;
const PATIENCE_MS = 1_800_000;

let ledger: BillingUnderTest;
let env: Record<string, string>;
beforeAll(async () => {
  env = { REDIS_URL: (await testRedis()).url };
  ledger = await startBilling(env);
});
afterAll(() => ledger?.stopSound());

async function counterOf(process: BillingProcess, name: string): Promise<number> {
  const lines = (await process.metrics()).split("\n").filter((line) => line.startsWith(name));
  return lines.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
}

class Fleet {
  readonly live: BillingProcess[] = [];
  races = 0;
  commits = 0;

  async start(): Promise<void> {
    this.live.push(await startBillingOn(ledger.url, systemClock, env));
  }

  /** The next calls of its callers are answered by the others. */
  async replaceFirst(): Promise<void> {
    const oldest = this.live.shift();
    if (oldest !== undefined) await this.end(oldest);
    await this.start();
  }

  async end(process: BillingProcess): Promise<void> {
    this.races += await counterOf(process, "billing_commit_retries_total");
    this.commits += await counterOf(process, "billing_batch_operations_count");
    await process.stop();
  }
}

/** Sends an operation to the process that a caller chooses. */
type Send = (operation: OperationInit) => Promise<Outcome>;

/** Repeats an operation until a process has answered. */
async function insist(send: Send, operation: OperationInit): Promise<OutcomeCode> {
  for (;;) {
    try {
      return (await send(operation)).code;
    } catch (error) {
      const { reason } = error as { reason?: unknown };
      if (reason !== "billing_unavailable" && reason !== "service_unavailable") throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function captureOf(accountId: string, holdId: string): OperationInit {
  return { operation: { case: "capture", value: { accountId, holdId, credits: 1n, costPicoUsd: 5n } } };
}

const random = new Random(20_261_127);
const WAYS: Record<string, (fleet: Fleet) => Send> = {
  "any process": (fleet) => (operation) => {
    const process = fleet.live[random.below(fleet.live.length)];
    if (process === undefined) throw new Error("no process lives");
    return postOne(process.billing, operation);
  },
  /** Two services with a list of addresses each. */
  "the process of the account": (fleet) => {
    const addresses = () => fleet.live.map(({ rpcUrl }) => rpcUrl);
    const clients = [dialProcesses(addresses), dialProcesses(addresses)] as const;
    let sent = 0;
    return async (operation) => {
      sent += 1;
      const client = clients[sent % 2 === 0 ? 0 : 1];
      const to = await addressFor(client, operation.operation?.value?.accountId ?? "");
      return postOne(client, operation, to);
    };
  },
};

test.each(Object.entries(WAYS))(
  "callers that choose %s lose nothing and overrun nothing during rolling restarts",
  async (way, chooseIn) => {
    const free = await openWallet(ledger.billing, 1_000_000n);
    const { accountId } = free;
    const capped: Wallet = {
      accountId,
      spenderId: await putSpender(ledger.billing, accountId, { capCredits: CAP }),
    };
    const fleet = new Fleet();
    for (let count = 0; count < PROCESSES; count += 1) await fleet.start();
    const send = chooseIn(fleet);
    let begun = 0;
    let ended = 0;
    const codes = new Map<OutcomeCode, number>();
    const call = async () => {
      while (begun < PAIRS) {
        begun += 1;
        const hold = place(begun % 2 === 0 ? free : capped, 1n, {
          deadlineAt: BigInt(Date.now() + 3_600_000),
        });
        const placed = await insist(send, hold);
        if (placed === OutcomeCode.DONE) {
          expect(await insist(send, captureOf(accountId, hold.holdId))).toBe(OutcomeCode.DONE);
        }
        codes.set(placed, (codes.get(placed) ?? 0) + 1);
        ended += 1;
      }
    };
    const calling = Promise.all(Array.from({ length: CALLERS }, call));
    const replacing = (async () => {
      for (let count = 1; count <= ROUNDS * PROCESSES; count += 1) {
        while (ended < (PAIRS * count) / (ROUNDS * PROCESSES + 1))
          await new Promise((resolve) => setTimeout(resolve, 5));
        await fleet.replaceFirst();
      }
    })();
    await Promise.all([calling, replacing]);
    for (const process of fleet.live) await fleet.end(process);
    const { usage } = await ledger.billing.getCredits({ accountId, bySpender: true });
    const used = new Map(usage.map(({ spender, usedCredits }) => [spender?.spenderId, usedCredits]));
    expect(used.get(free.spenderId)).toBe(BigInt(PAIRS / 2));
    expect(used.get(capped.spenderId)).toBe(CAP);
    expect(codes.get(OutcomeCode.DONE)).toBe(PAIRS / 2 + Number(CAP));
    process.stdout.write(
      `rolling restarts, ${way}: ${PAIRS} requests, ${fleet.commits} commits, ${fleet.races} lost races\n`,
    );
  },
  PATIENCE_MS,
);
