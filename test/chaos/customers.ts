// Accounts with credit and keys, created by the operator's RPCs.
import { randomUUID } from "node:crypto";
import type { Credits } from "@gr/money";
import { DepositStatus, SpendPeriod } from "@gr/proto/billing";
import { KeyKind } from "@gr/proto/keys";
import { billingOf, keysOf } from "../e2e/operator.ts";

export interface CustomerKey {
  readonly accountId: string;
  readonly keyId: string;
  readonly secret: string;
}

/** Opens an account with this credit. @returns its id */
export async function openAccount(dataDir: string, credits: Credits): Promise<string> {
  const { accountId } = await (await keysOf(dataDir)).createAccount({ name: "Chaos" });
  await (await billingOf(dataDir)).putDeposit({
    depositId: randomUUID(),
    accountId,
    credits,
    status: DepositStatus.COMPLETED,
    source: "test",
  });
  return accountId;
}

/**
 * @param limits a spend limit for the whole life of the key; Unix milliseconds of its expiry
 * @param operator for many keys over one connection. Absent: a connection of its own
 */
export async function mintKey(
  dataDir: string,
  accountId: string,
  limits: { cap?: Credits; expiresAt?: number; savesTexts?: true } = {},
  operator?: Awaited<ReturnType<typeof keysOf>>,
): Promise<CustomerKey> {
  const { key, secret } = await (operator ?? (await keysOf(dataDir))).mintKey({
    accountId,
    name: "Chaos key",
    kind: KeyKind.NORMAL,
    ...(limits.cap === undefined ? {} : { capCredits: limits.cap, period: SpendPeriod.LIFETIME }),
    ...(limits.expiresAt === undefined ? {} : { expiresAt: BigInt(limits.expiresAt) }),
    ...(limits.savesTexts && { savesTexts: true }),
  });
  return { accountId, keyId: key?.keyId ?? "", secret };
}

/** Returns the secret of a management key. */
export async function mintManagementKey(dataDir: string, accountId: string): Promise<string> {
  const keys = await keysOf(dataDir);
  return (await keys.mintKey({ accountId, name: "Owner", kind: KeyKind.MANAGEMENT })).secret;
}
