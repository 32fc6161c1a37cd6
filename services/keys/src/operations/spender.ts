// Spenders are the spending authority of keys in billing. Billing's row decides about spending, so it is written before
// ours.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { periodNameOf, spendPeriodOf } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { type BillingService, type Spender, type SpenderSchema, SpendPeriod } from "@gr/proto/billing";
import type { ServiceClient } from "@gr/runtime";
import type { ApiKey } from "../records/key.ts";
import type { Account } from "../records/store.ts";
import { WEB_TOKEN_NAME } from "./web-token.ts";

/** The spender of a normal key; that of a deleted key is switched off for good. */
export function spenderOf(key: ApiKey): MessageInitShape<typeof SpenderSchema> {
  return {
    spenderId: key.id,
    accountId: key.accountId,
    name: key.name,
    ...(key.spendLimit === null ? {} : { capCredits: key.spendLimit }),
    period: spendPeriodOf(key.period),
    ...(key.expiresAt === null ? {} : { expiresAt: BigInt(key.expiresAt) }),
    active: key.active && key.deletedAt === null,
    createdAt: BigInt(key.createdAt),
    revision: key.revision,
    // Without a parent billing keeps the stored one, also for a deleted key that never had a valid one.
    parentId: key.deletedAt === null ? (key.budgetId ?? "") : "",
  };
}

/** @throws ServiceError invalid_value with param budget_id if no key can be below that budget; other errors of billing */
export async function putSpender(billing: ServiceClient<typeof BillingService>, key: ApiKey): Promise<void> {
  await billing.putSpender({ spender: spenderOf(key) }).catch((cause: unknown) => {
    if (!(cause instanceof ServiceError) || cause.param !== "spender.parent_id") throw cause;
    const rule =
      "It must be a budget of this account of the level account, member or customer, and it never changes";
    throw new ServiceError("invalid_value", `${rule} (field "budget_id").`, { param: "budget_id", cause });
  });
}

/**
 * Sends billing the current state of a key, if it can spend.
 * @returns undefined if billing accepts it; else the newer revision that billing has.
 */
export async function putSpenderOf(
  billing: ServiceClient<typeof BillingService>,
  key: ApiKey,
): Promise<bigint | undefined> {
  if (key.kind !== "normal") return undefined;
  try {
    await putSpender(billing, key);
    return undefined;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.param !== "spender.revision") throw error;
    const stored = await storedSpender(billing, key);
    if (stored === undefined) throw error;
    return stored.revision;
  }
}

/** Returns the key with the fields that billing has; the same key if billing has none. */
export async function keyAtBilling(
  billing: ServiceClient<typeof BillingService>,
  key: ApiKey,
): Promise<ApiKey> {
  const spender = key.kind === "normal" ? await storedSpender(billing, key) : undefined;
  if (spender === undefined) return key;
  const { name, active, capCredits, period, expiresAt, parentId } = spender;
  return {
    ...{ ...key, name, active },
    spendLimit: capCredits ?? null,
    period: periodNameOf(period) ?? null,
    expiresAt: expiresAt === undefined ? null : Number(expiresAt),
    budgetId: parentId || null,
  };
}

async function storedSpender(
  billing: ServiceClient<typeof BillingService>,
  { accountId, id }: ApiKey,
): Promise<Spender | undefined> {
  return (await billing.getCredits({ accountId, bySpender: true, spenderId: id })).usage[0]?.spender;
}

/** The spender of all web tokens of an account. It has no spend limit, and the tokens carry their expiry themselves. */
export function webTokenSpenderOf(account: Account): MessageInitShape<typeof SpenderSchema> {
  return {
    spenderId: account.id,
    accountId: account.id,
    name: WEB_TOKEN_NAME,
    period: SpendPeriod.LIFETIME,
    active: true,
    createdAt: BigInt(account.createdAt),
    // Constant content, constant revision.
    revision: 1n,
  };
}
