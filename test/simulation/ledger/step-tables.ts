// Step tables own the rows of the ledger in the simulated PostgreSQL: steps, claims, answers, copies of states, reports of payments. They keep
// the unique keys and the checks of the real tables. A transaction with steps is invisible until it ends.
import {
  CLAIM_COLUMNS,
  KEPT_ANSWER_COLUMNS,
  STEP_COLUMNS,
  type StateRow,
  type StepRow,
} from "@gr/billing/simulated";
import { readRows } from "./row-bytes.ts";

export interface TableStep extends StepRow {
  readonly bucket: number;
}

export interface TableClaim {
  readonly account_id: string;
  readonly hold_id: string;
  readonly claimed_at: bigint;
  readonly generation: number;
  readonly key: Buffer;
  readonly fingerprint: Buffer;
}

export interface TableAnswer {
  readonly account_id: string;
  readonly hold_id: string;
  readonly kept_at: bigint;
  readonly content_type: string;
  readonly body: Buffer;
}

export interface TableReport {
  readonly account_id: string;
  readonly credits: bigint;
  readonly status: string;
  readonly source: string;
}

/** A transaction that has written steps. */
export interface Insert {
  readonly tx: bigint;
  readonly steps: readonly TableStep[];
  readonly claims: readonly TableClaim[];
  readonly answers: readonly TableAnswer[];
}

export type Rows = Omit<Insert, "tx">;

/** Kinds in the unique index of beginnings. */
const BEGINNINGS: ReadonlySet<number> = new Set([2, 11, 12, 13]);
/** Before it, a follower has seen nothing. */
const FIRST_TX = 10n;

export class StepTables {
  /** Steps by account; element n has the number n + 1. */
  readonly #chains = new Map<string, TableStep[]>();
  /** By id. */
  readonly #beginnings = new Map<string, TableStep[]>();
  /** Owners by account and key, in order. */
  readonly claims = new Map<string, TableClaim[]>();
  readonly answers = new Map<string, TableAnswer>();
  readonly states = new Map<string, StateRow>();
  /** By account and number. */
  readonly budgetStates = new Map<string, Map<number, { readonly seq: bigint; readonly content: string }>>();
  readonly reports = new Map<string, TableReport>();
  /** Committed, in the order of the commits. */
  readonly committed: Insert[] = [];
  readonly running = new Set<Insert>();
  nextTx = FIRST_TX;

  chain(accountId: string): readonly TableStep[] {
    return this.#chains.get(accountId) ?? [];
  }

  /** Steps of the index of beginnings. */
  beginnings(id: string): readonly TableStep[] {
    return this.#beginnings.get(id) ?? [];
  }

  /** @returns "running" if a transaction that has not ended would conflict: PostgreSQL waits for its end */
  conflict(rows: Rows): "none" | "running" | "unique" {
    if (this.#isTaken(rows)) return "unique";
    if (this.running.size === 0) return "none";
    const keys = new Set(keysOf(rows));
    for (const other of this.running) if (keysOf(other).some((key) => keys.has(key))) return "running";
    return "none";
  }

  #isTaken({ steps, claims, answers }: Rows): boolean {
    return (
      steps.some(({ account_id: id, seq }) => seq <= BigInt(this.chain(id).length)) ||
      steps.some(
        ({ bucket, id, kind }) =>
          BEGINNINGS.has(kind) &&
          this.beginnings(id).some((one) => one.bucket === bucket && one.kind === kind),
      ) ||
      claims.some(({ generation, ...claim }) =>
        this.claims.get(claimKey(claim.account_id, claim.key))?.some((one) => one.generation === generation),
      ) ||
      answers.some(({ account_id: id, hold_id: hold }) => this.answers.has(`${id} ${hold}`))
    );
  }

  begin(rows: Rows): Insert {
    const insert = { tx: this.nextTx, ...rows };
    this.nextTx += 1n;
    this.running.add(insert);
    return insert;
  }

  abort(insert: Insert): void {
    this.running.delete(insert);
  }

  commit(insert: Insert): void {
    this.running.delete(insert);
    this.committed.push(insert);
    for (const step of insert.steps) {
      const { account_id: accountId, id, kind } = step;
      const chain = this.#chains.get(accountId);
      if (chain === undefined) this.#chains.set(accountId, [step]);
      else chain.push(step);
      if (!BEGINNINGS.has(kind)) continue;
      this.#beginnings.set(id, [...this.beginnings(id), step]);
    }
    for (const claim of insert.claims) {
      const key = claimKey(claim.account_id, claim.key);
      const owners = this.claims.get(key) ?? [];
      owners.push(claim);
      this.claims.set(key, owners);
    }
    for (const answer of insert.answers) this.answers.set(`${answer.account_id} ${answer.hold_id}`, answer);
  }
}

/** @param values binary arrays, as the writer sends them */
export function rowsOf([steps, claims, answers]: readonly unknown[]): Rows {
  return {
    steps: readRows<TableStep>(STEP_COLUMNS, steps as Buffer),
    claims: claims === undefined ? [] : readRows<TableClaim>(CLAIM_COLUMNS, claims as Buffer),
    answers: answers === undefined ? [] : readRows<TableAnswer>(KEPT_ANSWER_COLUMNS, answers as Buffer),
  };
}

export function claimKey(accountId: string, key: Buffer): string {
  return `${accountId} ${key.toString("hex")}`;
}

function keysOf({ steps, claims, answers }: Rows): string[] {
  return [
    ...steps.map(({ account_id: id, seq }) => `step ${id} ${seq}`),
    ...steps.flatMap(({ bucket, id, kind }) =>
      BEGINNINGS.has(kind) ? [`beginning ${bucket} ${id} ${kind}`] : [],
    ),
    ...claims.map(({ account_id: id, key, generation }) => `claim ${claimKey(id, key)} ${generation}`),
    ...answers.map(({ account_id: id, hold_id: hold }) => `answer ${id} ${hold}`),
  ];
}

/** The constraint `step_is_sound`, where `undefined` and null pass. */
export function isSound(step: TableStep): boolean {
  const { kind, credits, charge, cost, credited, debited, held, seq, place_seq: placeSeq } = step;
  const { used1, held1, used2, held2, used3, held3, used4, held4 } = step;
  const amounts = [
    charge,
    cost,
    debited - charge,
    held,
    used1,
    held1,
    used2,
    held2,
    used3,
    held3,
    used4,
    held4,
  ];
  return (
    amounts.every((amount) => amount === null || amount >= 0n) &&
    (charge === 0n || (kind === 5 && charge <= -credits)) &&
    (kind > 3 || credits <= 0n || credited - debited >= held) &&
    (placeSeq ?? 0n) < seq &&
    (placeSeq === null) === (kind <= 2 || kind >= 11)
  );
}
