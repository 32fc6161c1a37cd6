// Guarantees of key records: the remaining amount of a key, and the limit that stops it first. A rotation answers with the secret even if
// a later step fails.
import { create } from "@bufbuild/protobuf";
import type { BudgetRecord } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import { SpenderUsageSchema, SpendPeriod } from "@gr/proto/billing";
import { GetKeyResponseSchema, KeyKind, KeySchema, RotateKeyResponseSchema } from "@gr/proto/keys";
import { expect, test } from "@jest/globals";
import type { ConsoleDeps } from "../../console-deps.ts";
import type { ConsoleCall } from "../../door/console-call.ts";
import { keyRecordOf, keyRoutes } from "./key-routes.ts";

const NOW = Date.UTC(2026, 10, 22, 15);

test.each([
  // limit, period, used, in window, balance → available, by, status
  [undefined, SpendPeriod.LIFETIME, 70n, 0n, 100n, "0.0100", "balance", "active"],
  [80n, SpendPeriod.LIFETIME, 70n, 0n, 100n, "0.0010", "key", "active"],
  [80n, SpendPeriod.LIFETIME, 70n, 0n, 5n, "0.0005", "balance", "active"],
  [80n, SpendPeriod.DAY, 70n, 30n, 100n, "0.0050", "key", "active"],
  [80n, SpendPeriod.DAY, 170n, 80n, 100n, "0.0000", "key", "blocked"],
  [80n, SpendPeriod.LIFETIME, 90n, 0n, 100n, "0.0000", "key", "blocked"],
] as const)("limit %p of period %p", (spendLimit, period, used, inWindow, balance, available, by, status) => {
  const key = create(KeySchema, {
    keyId: "k",
    kind: KeyKind.NORMAL,
    active: true,
    period,
    ...(spendLimit === undefined ? {} : { capCredits: spendLimit }),
  });
  const usage = create(SpenderUsageSchema, { usedCredits: used, windowUsedCredits: inWindow, requests: 3n });
  const record = keyRecordOf(key, usage, { balance, now: NOW, budget: null });
  expect([record.available, record.limited_by, record.status]).toEqual([available, by, status]);
});

test.each([
  // remaining part of the budget, its state, balance, limit of the key → available, by, status
  ["0.0050", "open", 100n, undefined, "0.0050", "budget", "active"],
  ["0.0050", "open", 100n, 30n, "0.0030", "key", "active"],
  ["0.0050", "open", 20n, 30n, "0.0020", "balance", "active"],
  [null, "open", 100n, undefined, "0.0100", "balance", "active"],
  ["0.0000", "open", 100n, 30n, "0.0000", "budget", "blocked"],
  [null, "closed", 100n, undefined, "0.0000", "budget", "blocked"],
  ["0.0050", "expired", 100n, 30n, "0.0000", "budget", "blocked"],
] as const)("a budget with %p left that is %s", (remaining, state, balance, limit, available, by, status) => {
  const spendLimit = limit === undefined ? {} : { spendLimitCredits: limit };
  const key = create(KeySchema, { keyId: "k", kind: KeyKind.NORMAL, active: true, ...spendLimit });
  const budget: BudgetRecord = {
    ...{ id: "b", name: "a customer", level: "customer", state, remaining, resets_at: null },
    ...{ spend_limit: null, spend_limit_period: null, period_spend: "0.0000" },
  };
  const record = keyRecordOf(key, undefined, { balance, now: NOW, budget });
  expect([record.available, record.limited_by, record.status]).toEqual([available, by, status]);
});

test.each([
  [SpendPeriod.DAY, "2026-12-31T23:59:59Z", "2027-01-01T00:00:00.000Z"],
  // A Sunday, and a Monday.
  [SpendPeriod.WEEK, "2026-11-22T15:00:00Z", "2026-11-23T00:00:00.000Z"],
  [SpendPeriod.WEEK, "2026-11-23T00:00:00Z", "2026-11-30T00:00:00.000Z"],
  [SpendPeriod.MONTH, "2026-12-01T00:00:00Z", "2027-01-01T00:00:00.000Z"],
  [SpendPeriod.LIFETIME, "2026-12-01T00:00:00Z", null],
  // A period of a newer contract.
  [99 as SpendPeriod, "2026-12-01T00:00:00Z", null],
])("the limit of a key of period %p at %s resets at %s, in UTC", (period, at, end) => {
  const key = create(KeySchema, { keyId: "k", kind: KeyKind.NORMAL, active: true, period });
  const record = keyRecordOf(key, undefined, { balance: 0n, now: Date.parse(at), budget: null });
  expect(record.resets_at).toBe(end);
});

test("a rotation answers with the secret although billing and the audit log fail, and names no member", async () => {
  const key = create(KeySchema, { keyId: "k", kind: KeyKind.NORMAL, active: true });
  const calls: string[] = [];
  const away = (name: string) => async () => {
    calls.push(name);
    throw new ServiceError("billing_unavailable", "Billing is away.");
  };
  const deps = {
    keys: {
      getKey: async () => create(GetKeyResponseSchema, { key }),
      rotateKey: async () => create(RotateKeyResponseSchema, { key, secret: "gr_live_new" }),
    },
    billing: { getCredits: away("credits") },
    reports: { readSpenders: away("spenders") },
    store: { audit: away("audit") },
    keyMembers: { name: away("member") },
    events: {
      rotatedKeyNotRead: (keyId: string) => calls.push(`not read ${keyId}`),
      rotationNotAudited: (keyId: string, personId: string) => calls.push(`not audited ${keyId} ${personId}`),
    },
    clock: { now: () => NOW },
  } as unknown as ConsoleDeps;
  const call = {
    params: { account: "a", id: "k" },
    body: { overlap_hours: 24 },
    role: "developer",
    signedIn: { person: { id: "p", email: "p@example.com" } },
  } as unknown as ConsoleCall<"rotateKey">;
  expect(await keyRoutes(deps).rotateKey(call)).toEqual({ key: null, secret: "gr_live_new" });
  expect(calls.toSorted()).toEqual(["audit", "credits", "not audited k p", "not read k", "spenders"]);
});
