// KeysService: messages to domain values and back, with the rules of key-fields.ts in between.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { SpendPeriod } from "@gr/proto/billing";
import { type KeySchema, KeysService, type MintKeyRequest, KeyKind as ProtoKind } from "@gr/proto/keys";
import { implement, parseRequest, type RpcService } from "@gr/runtime";
import { z } from "zod";
import { createAccount } from "./create-account.ts";
import { deleteKey } from "./delete-key.ts";
import type { ApiKey, KeyKind, Period } from "./key.ts";
import type { KeyDeps } from "./key-deps.ts";
import { capField, expiryInstantField, nameField, periodField, periodNeedsCap } from "./key-fields.ts";
import { mintKey, type NewKey, requireAccount } from "./mint-key.ts";
import { spendPeriodOf } from "./spender.ts";
import { verifyKey } from "./verify-key.ts";

const accountFields = z.object({ name: nameField });

const keyFields = (deps: KeyDeps) =>
  z
    .object({
      name: nameField,
      kind: z.enum(["normal", "management"], { error: "The kind must be normal or management" }),
      cap_credits: capField.nullable(),
      period: periodField.nullable(),
      expires_at: expiryInstantField(deps.clock).nullable(),
    })
    .check(periodNeedsCap("period", "cap_credits"))
    .refine(({ kind, cap_credits }) => kind === "normal" || cap_credits === null, {
      error: "A management key spends nothing and takes no cap",
      path: ["cap_credits"],
    });

export function keysRpc(deps: KeyDeps): RpcService {
  return implement(KeysService, {
    async createAccount(request) {
      const { name } = parseRequest(accountFields, { name: request.name });
      return { accountId: await createAccount(deps, name) };
    },
    async mintKey(request) {
      const { key, secret } = await mintKey(deps, newKeyOf(deps, request));
      return { key: messageOf(key), secret };
    },
    async listKeys({ accountId, kind }) {
      await requireAccount(deps, accountId);
      return { keys: (await deps.store.list(accountId, kindOf(kind))).map(messageOf) };
    },
    async deleteKey({ accountId, keyId }) {
      await deleteKey(deps, accountId, keyId);
      return {};
    },
    async verifyKey({ secret }) {
      return { key: messageOf(await verifyKey(deps, secret)) };
    },
  });
}

/** @throws ServiceError invalid_value */
function newKeyOf(deps: KeyDeps, request: MintKeyRequest): NewKey {
  const fields = parseRequest(keyFields(deps), {
    name: request.name,
    kind: kindOf(request.kind),
    cap_credits: request.capCredits ?? null,
    period: periodOf(request.period),
    expires_at: request.expiresAt === undefined ? null : Number(request.expiresAt),
  });
  const { name, kind, cap_credits: capCredits, period, expires_at: expiresAt } = fields;
  return { accountId: request.accountId, name, kind, capCredits, period, expiresAt };
}

const KINDS: Readonly<Partial<Record<ProtoKind, KeyKind>>> = {
  [ProtoKind.NORMAL]: "normal",
  [ProtoKind.MANAGEMENT]: "management",
};

function kindOf(kind: ProtoKind): KeyKind | undefined {
  return KINDS[kind];
}

const PERIODS: Readonly<Record<SpendPeriod, Period | null>> = {
  [SpendPeriod.UNSPECIFIED]: null,
  [SpendPeriod.LIFETIME]: null,
  [SpendPeriod.DAY]: "day",
  [SpendPeriod.WEEK]: "week",
  [SpendPeriod.MONTH]: "month",
};

/** Undefined for a period of a newer contract, which the schema then refuses. */
function periodOf(period: SpendPeriod): Period | null | undefined {
  return PERIODS[period];
}

function messageOf(key: ApiKey): MessageInitShape<typeof KeySchema> {
  return {
    keyId: key.id,
    accountId: key.accountId,
    name: key.name,
    kind: key.kind === "normal" ? ProtoKind.NORMAL : ProtoKind.MANAGEMENT,
    active: key.active,
    ...(key.capCredits === null ? {} : { capCredits: key.capCredits }),
    period: spendPeriodOf(key.period),
    ...(key.expiresAt === null ? {} : { expiresAt: BigInt(key.expiresAt) }),
    createdAt: BigInt(key.createdAt),
    hint: key.hint,
  };
}
