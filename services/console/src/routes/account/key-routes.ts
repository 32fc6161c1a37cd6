// Key routes join the keys of an account from the keys service with their usage and limits from billing.
import { periodNameOf, type SpendPeriodName, spendPeriodOf } from "@gr/clients";
import type { BudgetRecord, KeyRecord, Role } from "@gr/console-api";
import { RESPONSE_FORMATS } from "@gr/identity";
import { type Credits, formatCredits, larger, parseCredits } from "@gr/money";
import { ServiceError, spendLimitChange, spendLimitFields, spendLimitOf } from "@gr/proto";
import { type SpenderUsage, SpendPeriod } from "@gr/proto/billing";
import { type Key, KeyKind } from "@gr/proto/keys";
import type { ConsoleDeps } from "../../console-deps.ts";
import { requireRole } from "../../door/authorize.ts";
import { accountOf, type Handlers, signedInOf } from "../../door/console-call.ts";
import { memberBudget, readBudgets } from "../../requests/budgets.ts";
import { endOfWindow } from "../../requests/days.ts";
import { pageLimit } from "../../requests/pages.ts";
import { recordAudit } from "../audit.ts";

const HOUR_MS = 3_600_000;

type KeyRoutes = Handlers<
  "listKeys" | "createKey" | "changeKey" | "rotateKey" | "deleteKey" | "issueWebToken"
>;

export function keyRoutes(deps: ConsoleDeps): KeyRoutes {
  const { keys, keyMembers, events } = deps;
  /** @throws ServiceError key_not_found, role_required */
  const findKey = async (accountId: string, keyId: string, role: Role | undefined): Promise<Key> => {
    const { key } = await keys.getKey({ accountId, keyId });
    if (key === undefined)
      throw new ServiceError("key_not_found", "The API key was not found.", { param: "id" });
    if (key.kind === KeyKind.MANAGEMENT) requireRole(role, "admin");
    return key;
  };
  const recordOf = async (accountId: string, key: Key | undefined): Promise<KeyRecord> => {
    const [record] = await recordsOf(deps, accountId, key === undefined ? [] : [key]);
    if (record === undefined) throw new Error("the keys service has answered no key");
    return record;
  };
  return {
    listKeys: async (call) => {
      const accountId = accountOf(call);
      const { kind, after = "" } = call.query;
      const page = { limit: pageLimit(call.query), after };
      const found = await keys.listKeys({ accountId, kind: kindOf(kind), ...page });
      const data = await recordsOf(deps, accountId, found.keys);
      return { data, next: found.hasMore ? (data.at(-1)?.id ?? null) : null };
    },
    createKey: async (call) => {
      const accountId = accountOf(call);
      const { name, kind, spend_limit, spend_limit_period, expires_at } = call.body;
      const { allowed_models: models, allowed_providers: providers } = call.body;
      if (kind === "management") requireRole(call.role, "admin");
      const { person } = signedInOf(call);
      const budget = kind === "normal" ? await memberBudget(deps, accountId, person.id) : null;
      const { key, secret } = await naming(
        keys.mintKey({
          accountId,
          name,
          kind: kindOf(kind),
          ...spendLimitFields(spend_limit === null ? null : creditsIn(spend_limit)),
          ...(spend_limit_period === null ? {} : { period: spendPeriodOf(spend_limit_period) }),
          ...(expires_at === null ? {} : { expiresAt: BigInt(Date.parse(expires_at)) }),
          ...(models === null ? {} : { allowedModels: { names: models } }),
          ...(providers === null ? {} : { allowedProviders: { names: providers } }),
          defaultResponseFormat: call.body.default_response_format ?? "",
          ...(budget === null ? {} : { budgetId: budget.id }),
          savesTexts: call.body.saves_texts,
        }),
      );
      const record = await recordOf(accountId, key);
      await recordAudit(deps, call, { action: "key.created", subject: record.id, detail: { name, kind } });
      await keyMembers.name(accountId, record.id, person.id);
      return { key: record, secret };
    },
    changeKey: async (call) => {
      const accountId = accountOf(call);
      const { id: keyId = "" } = call.params;
      const before = await findKey(accountId, keyId, call.role);
      const { name, is_active: active, spend_limit, spend_limit_period, expires_at } = call.body;
      const { default_response_format: format, saves_texts: savesTexts } = call.body;
      const { key } = await naming(
        keys.updateKey({
          accountId,
          keyId,
          ...(name === undefined ? {} : { name }),
          ...(active === undefined ? {} : { active }),
          ...spendLimitChange(spend_limit == null ? spend_limit : creditsIn(spend_limit)),
          period: periodChange(spend_limit_period, before),
          ...expiryChange(expires_at),
          ...listsChange(call.body),
          ...(format === undefined ? {} : { defaultResponseFormat: format ?? "" }),
          ...(savesTexts === undefined ? {} : { savesTexts }),
        }),
      );
      const detail = Object.fromEntries(
        Object.entries(call.body).map(([field, value]) => [field, String(value)]),
      );
      await recordAudit(deps, call, { action: "key.changed", subject: keyId, detail });
      return recordOf(accountId, key);
    },
    rotateKey: async (call) => {
      const accountId = accountOf(call);
      const { id: keyId = "" } = call.params;
      await findKey(accountId, keyId, call.role);
      const { overlap_hours: hours } = call.body;
      const { key, secret } = await keys.rotateKey({ accountId, keyId, overlapMs: BigInt(hours * HOUR_MS) });
      // The answer has the only copy of the secret, so a failure after the replacement does not replace the answer.
      const detail = { overlap_hours: String(hours) };
      const [record] = await Promise.all([
        recordOf(accountId, key).catch((error: unknown) => {
          events.rotatedKeyNotRead(keyId, error);
          return null;
        }),
        recordAudit(deps, call, { action: "key.rotated", subject: keyId, detail }).catch((error: unknown) => {
          events.rotationNotAudited(keyId, signedInOf(call).person.id, error);
        }),
      ]);
      return { key: record, secret };
    },
    deleteKey: async (call) => {
      const accountId = accountOf(call);
      const { id: keyId = "" } = call.params;
      const { kind, name } = await findKey(accountId, keyId, call.role);
      await keys.deleteKey({ accountId, keyId, kind });
      await recordAudit(deps, call, { action: "key.deleted", subject: keyId, detail: { name } });
      return undefined;
    },
    issueWebToken: async (call) => {
      const { token, expiresAt } = await keys.issueWebToken({
        accountId: accountOf(call),
        personId: signedInOf(call).person.id,
      });
      return { token, expires_at: timeOf(expiresAt) };
    },
  };
}

/** Reads the records in two calls for any number of keys. */
async function recordsOf(deps: ConsoleDeps, accountId: string, keys: readonly Key[]): Promise<KeyRecord[]> {
  if (keys.length === 0) return [];
  const { billing, reports, clock } = deps;
  const [credits, { usage }, budgets] = await Promise.all([
    billing.getCredits({ accountId }),
    reports.readSpenders({ accountId, spenderIds: keys.map(({ keyId }) => keyId) }),
    readBudgets(
      deps,
      accountId,
      keys.map(({ budgetId }) => budgetId),
    ),
  ]);
  const balance = larger(credits.remainingCredits - credits.heldCredits, 0n);
  const usageOf = new Map(usage.map((one) => [one.spender?.spenderId, one]));
  return keys.map((key) => {
    const around = { balance, now: clock.now(), budget: budgets.get(key.budgetId) ?? null };
    return keyRecordOf(key, usageOf.get(key.keyId), around);
  });
}

interface KeySurroundings {
  readonly balance: Credits;
  /** Unix milliseconds. */
  readonly now: number;
  /** The budget above the key. */
  readonly budget: BudgetRecord | null;
}

export function keyRecordOf(
  key: Key,
  usage: SpenderUsage | undefined,
  { balance, now, budget }: KeySurroundings,
): KeyRecord {
  const period = periodNameOf(key.period) ?? null;
  const limit = spendLimitOf(key);
  const isManagement = key.kind === KeyKind.MANAGEMENT;
  const used = (period !== null ? usage?.windowUsedCredits : usage?.usedCredits) ?? 0n;
  const remaining = limit === undefined ? undefined : larger(limit - used, 0n);
  const isShut = budget !== null && (budget.state !== "open" || budget.remaining === "0.0000");
  const shared = isShut ? 0n : parseCredits(budget?.remaining ?? "");
  const bounds = [
    { by: "balance" as const, credits: balance },
    ...(shared === undefined ? [] : [{ by: "budget" as const, credits: shared }]),
    ...(remaining === undefined ? [] : [{ by: "key" as const, credits: remaining }]),
  ];
  const bound = bounds.reduce((least, each) => (each.credits < least.credits ? each : least));
  const isExpired = key.expiresAt !== undefined && Number(key.expiresAt) <= now;
  return {
    id: key.keyId,
    name: key.name,
    kind: isManagement ? "management" : "normal",
    hint: key.hint,
    is_active: key.active,
    status: statusOf(key, isExpired, remaining === 0n || isShut),
    created_at: timeOf(key.createdAt),
    expires_at: key.expiresAt === undefined ? null : timeOf(key.expiresAt),
    spend_limit: limit === undefined ? null : formatCredits(limit),
    spend_limit_period: period,
    period_spend: formatCredits(used),
    resets_at: period === null ? null : new Date(endOfWindow(period, now)).toISOString(),
    total_spend: formatCredits(usage?.usedCredits ?? 0n),
    total_requests: Number(usage?.requests ?? 0n),
    last_used_on: usage?.lastUsedDay || null,
    available: formatCredits(isManagement ? 0n : bound.credits),
    allowed_models: key.allowedModels?.names ?? null,
    allowed_providers: key.allowedProviders?.names ?? null,
    default_response_format: RESPONSE_FORMATS.find((known) => known === key.defaultResponseFormat) ?? null,
    limited_by: isManagement ? null : bound.by,
    budget,
    saves_texts: key.savesTexts,
    former_secret: formerOf(key, now),
  };
}

function statusOf({ active }: Key, isExpired: boolean, isBlocked: boolean): KeyRecord["status"] {
  if (!active) return "disabled";
  if (isExpired) return "expired";
  return isBlocked ? "blocked" : "active";
}

function formerOf({ formerHint, formerEndsAt }: Key, now: number): KeyRecord["former_secret"] {
  if (formerEndsAt === undefined || Number(formerEndsAt) <= now) return null;
  return { hint: formerHint, ends_at: timeOf(formerEndsAt) };
}

function kindOf(kind: "normal" | "management"): KeyKind {
  return kind === "normal" ? KeyKind.NORMAL : KeyKind.MANAGEMENT;
}

/** Returns the period. A key without a limit has no period. */
function periodChange(period: SpendPeriodName | null | undefined, key: Key): SpendPeriod {
  if (period === undefined || (period === null && spendLimitOf(key) === undefined))
    return SpendPeriod.UNSPECIFIED;
  return spendPeriodOf(period);
}

function expiryChange(expiry: string | null | undefined) {
  if (expiry === undefined) return {};
  if (expiry === null) return { expiry: { case: "neverExpires", value: true } as const };
  return { expiry: { case: "expiresAt", value: BigInt(Date.parse(expiry)) } as const };
}

interface Lists {
  readonly allowed_models?: readonly string[] | null | undefined;
  readonly allowed_providers?: readonly string[] | null | undefined;
}

function listsChange({ allowed_models: models, allowed_providers: providers }: Lists) {
  return {
    ...(models === null && { models: { case: "allModels" as const, value: true } }),
    ...(models != null && { models: { case: "allowedModels" as const, value: { names: [...models] } } }),
    ...(providers === null && { providers: { case: "allProviders" as const, value: true } }),
    ...(providers != null && {
      providers: { case: "allowedProviders" as const, value: { names: [...providers] } },
    }),
  };
}

/** @throws ServiceError invalid_value */
function creditsIn(usd: string): Credits {
  const credits = parseCredits(usd);
  if (credits !== undefined) return credits;
  throw new ServiceError("invalid_value", 'It must be an amount of USD (field "spend_limit").', {
    param: "spend_limit",
  });
}

/** Names of the keys service's fields in this API. */
const FIELDS: Readonly<Record<string, string>> = { cap_credits: "spend_limit", period: "spend_limit_period" };

async function naming<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((error: unknown) => {
    const field = error instanceof ServiceError ? FIELDS[error.param ?? ""] : undefined;
    if (!(error instanceof ServiceError) || field === undefined) throw error;
    const message = error.message.replace(`"${error.param}"`, `"${field}"`);
    throw new ServiceError(error.reason, message, { param: field, cause: error });
  });
}

function timeOf(unixMs: bigint): string {
  return new Date(Number(unixMs)).toISOString();
}
