// Short words for what most tests do: an account with money, a spender on it, one operation at a time.
import { createHash, randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  DepositStatus,
  type OperationSchema,
  type Outcome,
  ReleaseReason,
  type SpenderSchema,
  SpendPeriod,
} from "@gr/proto/billing";
import { type BillingClient, THURSDAY } from "./start-billing.ts";

export type OperationInit = MessageInitShape<typeof OperationSchema>;
type SpenderInit = MessageInitShape<typeof SpenderSchema>;

export interface Wallet {
  readonly accountId: string;
  readonly spenderId: string;
}

export interface ClaimInit {
  readonly key: Uint8Array;
  readonly fingerprint: Uint8Array;
}

interface PlaceFields {
  readonly holdId?: string;
  readonly service?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly upstreamModel?: string;
  readonly deadlineAt?: bigint;
  readonly claim?: ClaimInit;
  readonly mostCredits?: bigint;
  readonly personId?: string;
}

/** Many at once take their time on a slow machine. */
const PATIENCE_MS = 120_000;

const FIRST_PROVIDER = "openrouter";
export const DEADLINE = BigInt(THURSDAY + 600_000);

export async function openAccount(billing: BillingClient, credits: bigint): Promise<string> {
  const accountId = randomUUID();
  await billing.openAccount({ accountId });
  if (credits > 0n) await deposit(billing, accountId, credits);
  return accountId;
}

export async function deposit(
  billing: BillingClient,
  accountId: string,
  credits: bigint,
  depositId: string = randomUUID(),
): Promise<string> {
  const status = DepositStatus.COMPLETED;
  await billing.putDeposit({ depositId, accountId, credits, status, source: "test" });
  return depositId;
}

export async function putSpender(
  billing: BillingClient,
  accountId: string,
  fields: Partial<SpenderInit> = {},
): Promise<string> {
  const spenderId = fields.spenderId ?? randomUUID();
  const spender: SpenderInit = {
    name: "a key",
    period: SpendPeriod.LIFETIME,
    active: true,
    createdAt: BigInt(THURSDAY),
    revision: 0n,
    parentId: "",
    ...fields,
    accountId,
    spenderId,
  };
  await billing.putSpender({ spender });
  return spenderId;
}

/** An account with this much credit, and one spender on it. */
export async function openWallet(
  billing: BillingClient,
  credits: bigint,
  spender: Partial<SpenderInit> = {},
): Promise<Wallet> {
  const accountId = await openAccount(billing, credits);
  return { accountId, spenderId: await putSpender(billing, accountId, spender) };
}

export function place(
  { accountId, spenderId }: Wallet,
  credits: bigint,
  fields: PlaceFields = {},
): OperationInit & { holdId: string } {
  const value = {
    holdId: randomUUID(),
    accountId,
    spenderId,
    credits,
    service: "text-proxy",
    provider: FIRST_PROVIDER,
    upstreamModel: upstreamModelOf(1),
    model: "sandbox/chat",
    priceVersion: "v1",
    deadlineAt: DEADLINE,
    ...fields,
  };
  return { holdId: value.holdId, operation: { case: "place", value } };
}

/** The claim of an Idempotency-Key on a request, as clients compute it. */
export function claimOf(key: string, content = "content") {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return { key: digest(key), fingerprint: digest(content) };
}

/** A place with a claim; the answer also has its hold's id. */
export function claiming(
  from: Wallet,
  credits: bigint,
  key: string,
  fields: PlaceFields & { content?: string } = {},
) {
  const { content, ...rest } = fields;
  return place(from, credits, { ...rest, claim: claimOf(key, content) });
}

export function capture(
  holdId: string,
  credits: bigint,
  costPicoUsd = credits * 100_000_000n,
): OperationInit {
  return { operation: { case: "capture", value: { holdId, credits, costPicoUsd } } };
}

export function release(
  holdId: string,
  costPicoUsd = 0n,
  reason: ReleaseReason = ReleaseReason.FAILED,
  provider = "",
): OperationInit {
  return { operation: { case: "release", value: { holdId, costPicoUsd, reason, provider } } };
}

export function abandon(holdId: string, costPicoUsd = 0n): OperationInit {
  return release(holdId, costPicoUsd, ReleaseReason.UNRESOLVED);
}

export function extend(
  holdId: string,
  credits: bigint,
  deadlineAt = DEADLINE,
  mostCredits?: bigint,
): OperationInit {
  const value = { holdId, credits, deadlineAt, ...(mostCredits === undefined ? {} : { mostCredits }) };
  return { operation: { case: "extend", value } };
}

/** Who makes this attempt. */
export function providerOf(attempt: number): string {
  return attempt === 1 ? FIRST_PROVIDER : `provider-${attempt}`;
}

/** What the model is called at the provider of this attempt. */
export function upstreamModelOf(attempt: number): string {
  return `upstream/chat-${attempt}`;
}

/** @param costPicoUsd of the attempt that failed */
export function nextAttempt(
  holdId: string,
  attempt: number,
  costPicoUsd = 0n,
  deadlineAt = DEADLINE,
  billedBy = "",
): OperationInit {
  const value = {
    holdId,
    attempt,
    billedBy,
    provider: providerOf(attempt),
    upstreamModel: upstreamModelOf(attempt),
    costPicoUsd,
    deadlineAt,
  };
  return { operation: { case: "nextAttempt", value } };
}

/** Posts the operations together. */
export async function post(billing: BillingClient, ...operations: OperationInit[]): Promise<Outcome[]> {
  return (await billing.post({ operations }, { timeoutMs: PATIENCE_MS })).outcomes;
}

/** @param to address of a process; empty = the client chooses */
export async function postOne(billing: BillingClient, operation: OperationInit, to = ""): Promise<Outcome> {
  const { outcomes } = await billing.post({ operations: [operation] }, { timeoutMs: PATIENCE_MS, to });
  const [outcome] = outcomes;
  if (outcome === undefined) throw new Error("no outcome");
  return outcome;
}
