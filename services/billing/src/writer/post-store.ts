// The statement that moves money: a batch of operations as one call of the SQL function `post`, and its answer.
// Parameters are array literals: cheaper than JSON for Node and PostgreSQL together (see the README).
import type { Credits, PicoUsd } from "@gr/money";
import { OutcomeCode } from "@gr/proto/billing";
import type { PoolClient } from "@gr/runtime";
import type { Period } from "../accounts/spender.ts";
import { literal, quoted } from "../text-log/array-literal.ts";
import type { Claim, HoldTag, Operation } from "./operation.ts";

const POST =
  "SELECT outcomes, remarks FROM post($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)";

const LOCK = "SELECT lock_for_posts($1, $2, $3)";

/** Plans that suit a short statement on few rows by key, whatever the planner believes of a growing table. */
const PLANNER = `SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off;
  SET enable_mergejoin = off; SET plan_cache_mode = force_generic_plan; SET jit = off`;

export interface Refusal {
  readonly inFlight: boolean;
  readonly available: Credits;
  /** Of a refusal for the cap. */
  readonly cap: Credits;
  readonly period: Period | undefined;
  /** Of a refusal for the cap or for the limit of free requests: Unix milliseconds; 0 = never. */
  readonly resetsAt: bigint;
  /** Unix milliseconds, when the spender has expired. */
  readonly expiresAt: bigint;
  /** Nothing but the suspension of its account keeps the spender from spending. */
  readonly suspended: boolean;
}

/** Of a refusal about which there is nothing to say. */
export const NO_REFUSAL: Refusal = {
  inFlight: false,
  available: 0n,
  cap: 0n,
  period: undefined,
  resetsAt: 0n,
  expiresAt: 0n,
  suspended: false,
};

export interface Posted {
  readonly code: OutcomeCode;
  readonly refusal?: Refusal;
  /** The charged hold that has the key. */
  readonly earlierHoldId?: string;
  /** Size of a hold that may be larger than was asked for at least. */
  readonly held?: Credits;
  readonly loss?: Loss;
}

/** What this operation, and no earlier copy of it, added to our losses. */
export interface Loss {
  /** Cost of a request, or of one attempt, that failed. */
  readonly failed: PicoUsd;
  /** Cost that turned up when the hold had been, or had to be, given up. */
  readonly late: PicoUsd;
  /** Credits of a hold that was given up now. */
  readonly abandoned: Credits | undefined;
}

/** What operations are decided by, besides the ledger. */
export interface PostTerms {
  /** The time; null = PostgreSQL's clock. */
  readonly at: Date | null;
  /** Most requests to free models of an account in a UTC day; null = no limit. */
  readonly freeLimit: number | null;
}

/** What the SQL function says about an operation; amounts as text, since JSON numbers are not exact. */
interface Remark {
  readonly i: number;
  readonly inFlight?: boolean;
  readonly available?: string | null;
  readonly cap?: string | null;
  readonly period?: Period | null;
  readonly resetsAt?: number | null;
  readonly expiresAt?: number | null;
  readonly suspended?: boolean | null;
  readonly failed?: string;
  readonly late?: string | null;
  readonly abandoned?: string;
  readonly holder?: string;
  readonly held?: string;
}

/** An outcome as the SQL functions name it. */
export type OutcomeName = Exclude<Lowercase<keyof typeof OutcomeCode>, "unspecified">;

const PLAIN: Readonly<Record<string, Posted>> = Object.fromEntries(
  Object.entries(OutcomeCode).flatMap(([name, code]) =>
    typeof code === "number" ? [[name.toLowerCase(), { code }]] : [],
  ),
);

export async function prepareForPosts(client: PoolClient): Promise<void> {
  await client.query(PLANNER);
}

/**
 * Locks all that these operations touch until the transaction ends, in the order that everybody keeps. For a transaction
 * that posts more than once.
 */
export async function lockForPosts(client: PoolClient, operations: readonly Operation[]): Promise<void> {
  const values = [
    literal(operations, ({ holdId }) => holdId),
    literal(operations, ({ accountId }) => accountId),
    literal(operations, ({ spenderId }) => spenderId),
  ];
  await client.query({ name: "lock_for_posts", text: LOCK, values });
}

/**
 * @param operations each hold, and each key of an account, at most once.
 * @returns one answer per operation, in order.
 */
export async function post(
  client: PoolClient,
  operations: readonly Operation[],
  { at, freeLimit }: PostTerms,
): Promise<Posted[]> {
  const tags = new TagList();
  const values = [
    literal(operations, ({ kind }) => kind),
    literal(operations, ({ holdId }) => holdId),
    literal(operations, ({ accountId }) => accountId),
    literal(operations, ({ spenderId }) => spenderId),
    literal(operations, ({ credits }) => credits),
    columnOfSome(operations, ({ most }) => most),
    literal(operations, ({ cost }) => cost),
    literal(operations, ({ deadlineAt }) => deadlineAt),
    literal(operations, ({ tag }) => (tag === null ? null : tags.indexOf(tag))),
    columnOfSome(operations, ({ attempt }) => attempt),
    columnOfSome(operations, ({ billedBy }) => (billedBy === null ? null : tags.indexOf(billedBy))),
    ...tags.columns(),
    ...claimColumns(operations),
    at,
    freeLimit,
  ];
  const { rows } = await client.query<[`{${string}}`, Remark[] | null]>({
    name: "post",
    text: POST,
    values,
    rowMode: "array",
  });
  const [outcomes = "{}", remarks = null] = rows[0] ?? [];
  return readPosted(outcomes.slice(1, -1).split(","), remarks);
}

function readPosted(outcomes: readonly string[], remarks: readonly Remark[] | null): Posted[] {
  const posted = outcomes.map(plainOf);
  for (const remark of remarks ?? []) {
    const plain = posted[remark.i];
    if (plain !== undefined) posted[remark.i] = { ...plain, ...readRemark(remark) };
  }
  return posted;
}

export function codeOf(outcome: OutcomeName): OutcomeCode {
  return plainOf(outcome).code;
}

function plainOf(outcome: string): Posted {
  const plain = PLAIN[outcome];
  if (plain === undefined) throw new Error(`the ledger answered with outcome ${outcome}`);
  return plain;
}

function readRemark(remark: Remark): Partial<Posted> {
  if (remark.holder !== undefined) return { earlierHoldId: remark.holder };
  if (remark.held !== undefined) return { held: BigInt(remark.held) };
  if (remark.inFlight === undefined) {
    const abandoned = remark.abandoned === undefined ? undefined : BigInt(remark.abandoned);
    return { loss: { failed: BigInt(remark.failed ?? 0), late: BigInt(remark.late ?? 0), abandoned } };
  }
  return {
    refusal: {
      inFlight: remark.inFlight,
      available: BigInt(remark.available ?? 0),
      cap: BigInt(remark.cap ?? 0),
      period: remark.period ?? undefined,
      resetsAt: BigInt(remark.resetsAt ?? 0),
      expiresAt: BigInt(remark.expiresAt ?? 0),
      suspended: remark.suspended ?? false,
    },
  };
}

/** Null when no operation has one. */
function columnOfSome(
  operations: readonly Operation[],
  columnOf: (operation: Operation) => bigint | number | null,
): string | null {
  if (operations.every((operation) => columnOf(operation) === null)) return null;
  return literal(operations, columnOf);
}

/** Keys and fingerprints; null both when there is no claim, so that the function need not look for any. */
function claimColumns(operations: readonly Operation[]): [string | null, string | null] {
  if (operations.every(({ claim }) => claim === null)) return [null, null];
  const column = (columnOf: (claim: Claim) => Buffer) =>
    literal(operations, ({ claim }) =>
      claim === null ? null : quoted(`\\x${columnOf(claim).toString("hex")}`),
    );
  return [column(({ key }) => key), column(({ fingerprint }) => fingerprint)];
}

/** Each combination of a batch once; few batches have more than a handful. */
class TagList {
  readonly #indexes = new Map<string, number>();
  readonly #tags: HoldTag[] = [];

  /** From 1, as PostgreSQL counts. */
  indexOf(tag: HoldTag): number {
    const { service, provider, upstreamModel, model, priceVersion } = tag;
    const key = [service, provider, upstreamModel, model, priceVersion].join("\0");
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    const index = this.#tags.push(tag);
    this.#indexes.set(key, index);
    return index;
  }

  columns(): string[] {
    const column = (columnOf: (tag: HoldTag) => string) =>
      literal(this.#tags, (tag) => quoted(columnOf(tag)));
    return [
      column(({ service }) => service),
      column(({ provider }) => provider),
      column(({ upstreamModel }) => upstreamModel),
      column(({ model }) => model),
      column(({ priceVersion }) => priceVersion),
    ];
  }
}
