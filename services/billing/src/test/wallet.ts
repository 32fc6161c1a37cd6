// Short words for what most tests do: an account with money, a spender on it, one operation at a time.
import { randomUUID } from "node:crypto";
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

export const DEADLINE = BigInt(THURSDAY + 600_000);

export async function openAccount(billing: BillingClient, credits: bigint): Promise<string> {
  const accountId = randomUUID();
  await billing.openAccount({ accountId });
  if (credits > 0n) await deposit(billing, accountId, credits);
  return accountId;
}

export async function deposit(billing: BillingClient, accountId: string, credits: bigint): Promise<string> {
  const depositId = randomUUID();
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
  fields: { holdId?: string; service?: string; model?: string; deadlineAt?: bigint } = {},
): OperationInit & { holdId: string } {
  const value = {
    holdId: randomUUID(),
    accountId,
    spenderId,
    credits,
    service: "text-proxy",
    provider: "openrouter",
    model: "sandbox/chat",
    priceVersion: "v1",
    deadlineAt: DEADLINE,
    ...fields,
  };
  return { holdId: value.holdId, operation: { case: "place", value } };
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
): OperationInit {
  return { operation: { case: "release", value: { holdId, costPicoUsd, reason } } };
}

export function abandon(holdId: string, costPicoUsd = 0n): OperationInit {
  return release(holdId, costPicoUsd, ReleaseReason.UNRESOLVED);
}

export function extend(holdId: string, credits: bigint, deadlineAt = DEADLINE): OperationInit {
  return { operation: { case: "extend", value: { holdId, credits, deadlineAt } } };
}

/** Posts the operations together. */
export async function post(billing: BillingClient, ...operations: OperationInit[]): Promise<Outcome[]> {
  return (await billing.post({ operations })).outcomes;
}

export async function postOne(billing: BillingClient, operation: OperationInit): Promise<Outcome> {
  const [outcome] = await post(billing, operation);
  if (outcome === undefined) throw new Error("no outcome");
  return outcome;
}
