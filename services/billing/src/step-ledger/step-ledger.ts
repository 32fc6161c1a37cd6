// Step ledger owns billing's services over the chain of steps: one object that the RPC and REST services answer from.
import { CLAIM_LIFETIME_MS, type Id, type Outcome } from "@gr/ledger";
import type { Clock, Logger, Pool } from "@gr/runtime";
import type { AccountStore } from "../accounts/accounts.ts";
import { sweepEarlierAnswers } from "../before-steps/earlier-answer-store.ts";
import { type BudgetStore, createBudgets } from "../budgets/budgets.ts";
import { ChainConnection, type ChainOptions, type KnownCopies } from "../chain/chain-connection.ts";
import type { ChainOperation } from "../chain/chain-operation.ts";
import type { AnswerStore, AnswerToKeep } from "../claims/claim-ports.ts";
import { sweepClaims } from "../follower/claim-sweep-store.ts";
import { Follower } from "../follower/follower.ts";
import { openHoldsReader } from "../follower/open-hold-store.ts";
import { sumsReader } from "../follower/sums-store.ts";
import type { HoldStore, OperationWriter, PostedOperation } from "../holds/hold.ts";
import { AccountReader } from "../reads/account-reader.ts";
import { createDryRuns, type DryRuns } from "../reads/dry-runs.ts";
import { createHoldReads } from "../reads/hold-reads.ts";
import { readKeptAnswer } from "../reads/kept-answer-store.ts";
import { createReportReads } from "../reads/report-reads-store.ts";
import type { ReportStore } from "../reports/report.ts";
import { invalid } from "../rpc/field-rules.ts";
import { sealClosedMonths } from "../seals/seal-months.ts";
import type { LedgerReport } from "../verify/ledger-report.ts";
import { verifyChains } from "../verify/verify-chains.ts";
import type { ClockCheck } from "../writer/clock-check-store.ts";
import { LedgerWriter } from "../writer/ledger-writer.ts";
import { ownersOf } from "./owner-store.ts";
import { createStepAccounts } from "./step-accounts.ts";

export interface StepLedgerOptions {
  readonly pool: Pool;
  readonly clock: Clock;
  readonly freeLimit: number | null;
  readonly log: Logger;
  readonly events: StepLedgerEvents;
  /** Refuses operations while the clock is wrong; absent: every clock is right. */
  readonly clockCheck?: ClockCheck;
  /** Absent: each account is read before its first answer. */
  readonly copies?: KnownCopies;
  /** Opens the connection of the writer; a `ChainConnection` if absent. */
  readonly connect?: (options: ChainOptions) => Pick<ChainConnection, "post" | "close">;
  /** Milliseconds that never run back; those of this process if absent. */
  readonly stopwatch?: Clock;
  /** Resolves after so many milliseconds; in real time if absent. */
  readonly wait?: (ms: number) => Promise<void>;
}

export interface StepLedgerEvents {
  committed(operations: readonly ChainOperation[], outcomes: readonly Outcome[]): void;
  triedAgain(error: unknown): void;
  /** @param places that the memory of a confirmed account refused */
  refusedFromMemory(places: number): void;
}

export interface StepLedger extends DryRuns {
  readonly writer: OperationWriter;
  readonly accounts: AccountStore;
  readonly answers: AnswerStore;
  readonly budgets: BudgetStore;
  readonly holds: HoldStore;
  readonly reports: ReportStore;
  /** The answers about single accounts. */
  readonly reader: AccountReader;
  /** Calls that wait for a commit. */
  readonly waiting: () => number;
  /** @param all proves sealed months from their steps, too */
  verify(all: boolean): Promise<LedgerReport>;
  /** Applies committed steps to sums and open holds. */
  follow(): Promise<void>;
  /** Seals the closed months of accounts. */
  seal(stopping: AbortSignal): Promise<void>;
  /** Deletes expired claims and answers. */
  sweep(stopping: AbortSignal): Promise<void>;
  close(): void;
}

export function createStepLedger(options: StepLedgerOptions): StepLedger {
  const { pool, clock, freeLimit, log, events, clockCheck, copies, stopwatch, wait } = options;
  const { connect = (chainOptions) => new ChainConnection(chainOptions) } = options;
  const { triedAgain: lostRace, refusedFromMemory } = events;
  const time = { ...(stopwatch && { stopwatch }), ...(wait && { wait }) };
  const checked = { ...(clockCheck && { clockCheck }), ...(copies && { copies }) };
  const connection = connect({
    pool,
    clock,
    freeLimit,
    log,
    lostRace,
    refusedFromMemory,
    ...checked,
    ...time,
  });
  const batches = new LedgerWriter<ChainOperation, Outcome>(connection, events);
  const post = (operations: readonly ChainOperation[], signal?: AbortSignal) =>
    batches.post(operations, signal);
  const accounts = new AccountReader(pool);
  const sums = new Follower({ pool, reader: sumsReader, log, ...time });
  const openHolds = new Follower({ pool, reader: openHoldsReader, log, ...time });
  const now = () => Math.floor(clock.now());
  return {
    writer: { post: (operations, signal) => postOperations(pool, post, operations, signal) },
    accounts: createStepAccounts({ pool, clock, accounts, post }),
    answers: {
      keep: (answer) => keepAnswer(pool, post, answer),
      read: (accountId, holdId) => readKeptAnswer(pool, accountId, holdId, now()),
    },
    ...createDryRuns(accounts, clock),
    budgets: createBudgets({ accounts, clock, post }),
    holds: createHoldReads({ pool, clock, accounts, openHolds, post, log }),
    reports: createReportReads({ pool, accounts, sums }),
    reader: accounts,
    waiting: () => batches.waiting,
    verify: (all) => verifyChains(pool, { now: now(), all }),
    follow: async () => {
      await Promise.all([sums.catchUp(), openHolds.catchUp()]);
    },
    seal: (stopping) => sealClosedMonths(pool, now(), stopping),
    sweep: async (stopping) => {
      await sweepClaims(pool, now(), stopping);
      await sweepEarlierAnswers(pool, now() - CLAIM_LIFETIME_MS, stopping);
    },
    close: () => connection.close(),
  };
}

type PostSteps = (operations: readonly ChainOperation[], signal?: AbortSignal) => Promise<Outcome[]>;

const UNKNOWN_HOLD: Outcome = { code: "unknown_hold" };

/** An operation without an account is of a caller of the version before: its hold is searched. */
async function postOperations(
  pool: Pool,
  post: PostSteps,
  operations: readonly PostedOperation[],
  signal: AbortSignal | undefined,
): Promise<Outcome[]> {
  const owners = new Map<Id, Id>();
  for (const { kind, holdId, accountId } of operations) {
    if (kind === "place" && !owners.has(holdId)) owners.set(holdId, accountId);
  }
  const lost = operations.filter(({ holdId, accountId }) => accountId === "" && !owners.has(holdId));
  for (const [id, owner] of await ownersOf(pool, [...new Set(lost.map(({ holdId }) => holdId))])) {
    owners.set(id, owner);
  }
  const asked = operations.map((operation) => {
    const accountId = operation.accountId || owners.get(operation.holdId);
    return accountId === undefined ? undefined : { ...operation, accountId };
  });
  const known = asked.filter((operation) => operation !== undefined);
  const outcomes = known.length === 0 ? [] : await post(known, signal);
  const answers = new Map(known.map((operation, index) => [operation, outcomes[index]]));
  return asked.map((operation) => (operation && answers.get(operation)) ?? UNKNOWN_HOLD);
}

async function keepAnswer(pool: Pool, post: PostSteps, answer: AnswerToKeep): Promise<void> {
  const { holdId, credits: charge, cost, contentType, body } = answer;
  const accountId = answer.accountId ?? (await ownersOf(pool, [holdId])).get(holdId);
  if (accountId === undefined) throw noClaim();
  const content = { contentType, body: Buffer.from(body) };
  const [outcome] = await post([{ kind: "keep", accountId, holdId, charge, cost, answer: content }]);
  switch (outcome?.code) {
    case "done":
      return;
    case "unknown_hold":
      throw noClaim();
    case "leased":
      throw invalid("hold_id", "The hold is past its deadline and being resolved");
    default:
      throw invalid("hold_id", "The hold is not open any more");
  }
}

function noClaim() {
  return invalid("hold_id", "There is no hold of this id that was placed with a claim");
}
