// Key messages convert keys, web tokens and enums between KeysService and the domain.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { spendPeriodOf } from "@gr/clients";
import { spendLimitFields } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";
import { type AccountSchema, type KeySchema, KeyKind as ProtoKind } from "@gr/proto/keys";
import { WEB_TOKEN_NAME, type WebToken } from "../operations/web-token.ts";
import type { ApiKey, KeyKind } from "../records/key.ts";
import type { Account } from "../records/store.ts";

type KeyMessage = MessageInitShape<typeof KeySchema>;

const KINDS: Readonly<Partial<Record<ProtoKind, KeyKind>>> = {
  [ProtoKind.NORMAL]: "normal",
  [ProtoKind.MANAGEMENT]: "management",
};

/** Undefined for no kind of key. */
export function kindOf(kind: ProtoKind): KeyKind | undefined {
  return KINDS[kind];
}

export function messageOfAccount(account: Account): MessageInitShape<typeof AccountSchema> {
  const { id, name, createdAt, responseFormat } = account;
  return {
    accountId: id,
    name,
    createdAt: BigInt(createdAt),
    defaultResponseFormat: responseFormat ?? "",
  };
}

export function messageOfKey(key: ApiKey): KeyMessage {
  return {
    keyId: key.id,
    accountId: key.accountId,
    name: key.name,
    kind: key.kind === "normal" ? ProtoKind.NORMAL : ProtoKind.MANAGEMENT,
    active: key.active,
    ...spendLimitFields(key.spendLimit),
    period: spendPeriodOf(key.period),
    ...(key.expiresAt === null ? {} : { expiresAt: BigInt(key.expiresAt) }),
    createdAt: BigInt(key.createdAt),
    hint: key.hint,
    defaultResponseFormat: key.responseFormat ?? "",
    ...(key.allowedModels === null ? {} : { allowedModels: { names: [...key.allowedModels] } }),
    ...(key.allowedProviders === null ? {} : { allowedProviders: { names: [...key.allowedProviders] } }),
    budgetId: key.budgetId ?? "",
    savesTexts: key.savesTexts,
    ...(key.former !== null && { formerHint: key.former.hint, formerEndsAt: BigInt(key.former.endsAt) }),
  };
}

export function messageOfWebToken({ accountId, personId, issuedAt, expiresAt }: WebToken): KeyMessage {
  return {
    keyId: accountId,
    accountId,
    name: WEB_TOKEN_NAME,
    kind: ProtoKind.WEB_TOKEN,
    active: true,
    period: SpendPeriod.LIFETIME,
    expiresAt: BigInt(expiresAt),
    createdAt: BigInt(issuedAt),
    ...(personId === undefined ? {} : { personId }),
  };
}
