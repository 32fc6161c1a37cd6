// KeysService: messages to domain values and back, with the rules of key-fields.ts in between.

import { periodNameOf } from "@gr/clients";
import { looksLikeWebToken } from "@gr/identity";
import { spendLimitChangeOf, spendLimitOf } from "@gr/proto";
import { SpendPeriod } from "@gr/proto/billing";
import {
  KeysService,
  type MintKeyRequest,
  KeyKind as ProtoKind,
  type UpdateKeyRequest,
} from "@gr/proto/keys";
import { implement, LONGEST_PAGE, parseRequest, type RpcService } from "@gr/runtime";
import { z } from "zod";
import {
  createAccount,
  issueWebToken,
  listAccounts,
  renameAccount,
  requireAccount,
  updateAccount,
} from "../operations/account.ts";
import { deleteKey, findKey, type KeyChange, updateKey } from "../operations/change-key.ts";
import type { KeyDeps } from "../operations/key-deps.ts";
import { listKeys } from "../operations/list-keys.ts";
import { mintKey, type NewKey } from "../operations/mint-key.ts";
import { rotateKey } from "../operations/rotate-key.ts";
import { verifyKey, verifyWebToken } from "../operations/verify-key.ts";
import { LONGEST_LIFETIME_MS } from "../operations/web-token.ts";
import type { KeyKind } from "../records/key.ts";
import { expiryInstantField } from "./expiry.ts";
import {
  allowedModelsField,
  allowedProvidersField,
  budgetField,
  creditsField,
  lifetimeField,
  nameField,
  periodField,
  periodNeedsLimit,
  personField,
  responseFormatField,
  savesTextsField,
} from "./key-fields.ts";
import { kindOf, messageOfAccount, messageOfKey, messageOfWebToken } from "./key-messages.ts";

const MOST_OVERLAP_MS = 30 * 24 * 3_600_000;
const PAGE_RANGE = `It must be from 1 to ${LONGEST_PAGE}, or 0 for as many`;
const accountFields = z.object({ name: nameField });
const kindField = z.enum(["normal", "management"], { error: "The kind must be normal or management" });
const limitField = z.number().int().min(1, PAGE_RANGE).max(LONGEST_PAGE, PAGE_RANGE);
const formatFields = z.object({ default_response_format: responseFormatField.optional() });
const OVERLAP_RANGE = "It must be from 0 to 30 days";
const rotationFields = z.object({
  overlap_ms: z.number().int().min(0, OVERLAP_RANGE).max(MOST_OVERLAP_MS, OVERLAP_RANGE),
});
const tokenFields = z.object({ lifetime_ms: lifetimeField, person_id: personField });

const keyFields = (deps: KeyDeps) =>
  z
    .object({
      name: nameField,
      kind: kindField,
      cap_credits: creditsField.nullable(),
      period: periodField.nullable(),
      expires_at: expiryInstantField(deps.clock).nullable(),
      default_response_format: responseFormatField.nullable(),
      allowed_models: allowedModelsField.nullable(),
      allowed_providers: allowedProvidersField.nullable(),
      budget_id: budgetField.nullable(),
      saves_texts: savesTextsField,
    })
    .check(periodNeedsLimit("period", "cap_credits"))
    .refine(({ kind, cap_credits }) => kind === "normal" || cap_credits === null, {
      error: "A management key does not spend, so it has no spend limit; leave it out",
      path: ["cap_credits"],
    })
    .refine(({ kind, default_response_format: format }) => kind === "normal" || format === null, {
      error: "A management key generates nothing and takes no default",
      path: ["default_response_format"],
    })
    .refine(({ kind, budget_id }) => kind === "normal" || budget_id === null, {
      error: "A management key does not spend, so it has no budget above it",
      path: ["budget_id"],
    })
    .refine(({ kind, saves_texts }) => kind === "normal" || !saves_texts, {
      error: "A management key generates nothing and saves no texts",
      path: ["saves_texts"],
    })
    .check(managementHasNoLists);

function managementHasNoLists(context: z.core.ParsePayload<Record<string, unknown>>): void {
  const { value, issues } = context;
  if (value["kind"] === "normal") return;
  for (const field of ["allowed_models", "allowed_providers"]) {
    if (value[field] === null) continue;
    const message = "A management key generates nothing and has no allow-lists";
    issues.push({ code: "custom", message, path: [field], input: value });
  }
}

const onlyTrue = z.literal(true, { error: "It must be true, or absent" });

/** Fields that are undefined stay as they are. */
const changeFields = (deps: KeyDeps) =>
  z.object({
    name: nameField.optional(),
    active: z.boolean().optional(),
    cap_credits: creditsField.optional(),
    no_cap: onlyTrue.optional(),
    period: periodField.nullable().optional(),
    expires_at: expiryInstantField(deps.clock).optional(),
    never_expires: onlyTrue.optional(),
    default_response_format: responseFormatField.nullable().optional(),
    allowed_models: allowedModelsField.optional(),
    all_models: onlyTrue.optional(),
    allowed_providers: allowedProvidersField.optional(),
    all_providers: onlyTrue.optional(),
    budget_id: budgetField.optional(),
    saves_texts: savesTextsField.optional(),
  });

/** A period of a newer contract stays a number, which no rule lets pass. */
const knownPeriod = (period: SpendPeriod) => {
  const known = periodNameOf(period);
  return known === undefined ? period : known;
};

export function keysRpc(deps: KeyDeps): RpcService {
  return implement(KeysService, {
    async createAccount(request) {
      const { name } = parseRequest(accountFields, { name: request.name });
      return { accountId: await createAccount(deps, name) };
    },
    async listAccounts({ createdFrom, ...asked }) {
      const { limit } = parseRequest(z.object({ limit: limitField }), { limit: asked.limit || LONGEST_PAGE });
      const page = { limit, after: asked.after || undefined };
      const { accounts, hasMore } = await listAccounts(deps, Number(createdFrom), page);
      return { accounts: accounts.map(messageOfAccount), hasMore };
    },
    async getAccount({ accountId }) {
      return { account: messageOfAccount(await requireAccount(deps, accountId)) };
    },
    async renameAccount({ accountId, ...sent }) {
      const { name } = parseRequest(accountFields, { name: sent.name });
      await renameAccount(deps, accountId, name);
      return {};
    },
    async updateAccount({ accountId, defaultResponseFormat: given }) {
      const { default_response_format: format } = parseRequest(formatFields, {
        default_response_format: given === "" ? undefined : given,
      });
      const change = { responseFormat: given === "" ? null : format };
      return { account: messageOfAccount(await updateAccount(deps, accountId, change)) };
    },
    async mintKey(request) {
      const { key, secret } = await mintKey(deps, newKeyOf(deps, request));
      return { key: messageOfKey(key), secret };
    },
    async listKeys({ accountId, kind, ...asked }) {
      await requireAccount(deps, accountId);
      const wanted = kind === ProtoKind.UNSPECIFIED ? undefined : requireKind(kind);
      const { limit } = parseRequest(z.object({ limit: limitField }), { limit: asked.limit || LONGEST_PAGE });
      const page = { limit, after: asked.after || undefined };
      const { keys, hasMore } = await listKeys(deps, accountId, wanted, page);
      return { keys: keys.map(messageOfKey), hasMore };
    },
    async getKey(request) {
      return { key: messageOfKey(await findKey(deps, request)) };
    },
    async updateKey(request) {
      const { accountId, keyId } = request;
      const change = changeOf(deps, request);
      return { key: messageOfKey(await updateKey(deps, { accountId, keyId }, change)) };
    },
    async rotateKey({ accountId, keyId, overlapMs }) {
      const { overlap_ms: overlap } = parseRequest(rotationFields, { overlap_ms: Number(overlapMs) });
      const { key, secret } = await rotateKey(deps, { accountId, keyId }, overlap);
      return { key: messageOfKey(key), secret };
    },
    async deleteKey({ accountId, keyId, kind }) {
      const wanted = kind === ProtoKind.UNSPECIFIED ? "normal" : requireKind(kind);
      await deleteKey(deps, { accountId, keyId, kind: wanted });
      return {};
    },
    async verifyKey({ secret }) {
      if (looksLikeWebToken(secret)) return { key: messageOfWebToken(await verifyWebToken(deps, secret)) };
      const { key, responseFormat } = await verifyKey(deps, secret);
      return { key: messageOfKey(key), responseFormat: responseFormat ?? "" };
    },
    async issueWebToken({ accountId, lifetimeMs, personId }) {
      const asked = lifetimeMs === 0n ? LONGEST_LIFETIME_MS : Number(lifetimeMs);
      const { lifetime_ms: lifetime } = parseRequest(tokenFields, {
        lifetime_ms: asked,
        person_id: personId,
      });
      const { token, expiresAt } = await issueWebToken(deps, { accountId, personId }, lifetime);
      return { token, expiresAt: BigInt(expiresAt) };
    },
  });
}

/** @throws ServiceError invalid_value */
function newKeyOf(deps: KeyDeps, request: MintKeyRequest): NewKey {
  const fields = parseRequest(keyFields(deps), {
    name: request.name,
    kind: kindOf(request.kind),
    cap_credits: spendLimitOf(request) ?? null,
    period: periodNameOf(request.period),
    expires_at: request.expiresAt === undefined ? null : Number(request.expiresAt),
    default_response_format: request.defaultResponseFormat || null,
    allowed_models: request.allowedModels?.names ?? null,
    allowed_providers: request.allowedProviders?.names ?? null,
    budget_id: request.budgetId || null,
    saves_texts: request.savesTexts,
  });
  const { name, kind, cap_credits: spendLimit, period, expires_at: expiresAt } = fields;
  return {
    ...{ accountId: request.accountId, name, kind, spendLimit, period, expiresAt },
    responseFormat: fields.default_response_format,
    allowedModels: fields.allowed_models,
    allowedProviders: fields.allowed_providers,
    budgetId: fields.budget_id,
    savesTexts: fields.saves_texts,
  };
}

/** @throws ServiceError invalid_value */
function changeOf(deps: KeyDeps, request: UpdateKeyRequest): KeyChange {
  const { name, active, period, expiry, models, providers, defaultResponseFormat: format } = request;
  const limit = spendLimitChangeOf(request);
  const fields = parseRequest(changeFields(deps), {
    name,
    active,
    ...(typeof limit === "bigint" ? { cap_credits: limit } : {}),
    ...(typeof limit === "boolean" ? { no_cap: limit } : {}),
    ...(period === SpendPeriod.UNSPECIFIED ? {} : { period: knownPeriod(period) }),
    ...(expiry.case === "expiresAt" ? { expires_at: Number(expiry.value) } : {}),
    ...(expiry.case === "neverExpires" ? { never_expires: expiry.value } : {}),
    ...(format === undefined ? {} : { default_response_format: format || null }),
    ...(models.case === "allowedModels" ? { allowed_models: models.value.names } : {}),
    ...(models.case === "allModels" ? { all_models: models.value } : {}),
    ...(providers.case === "allowedProviders" ? { allowed_providers: providers.value.names } : {}),
    ...(providers.case === "allProviders" ? { all_providers: providers.value } : {}),
    ...(request.budgetId === "" ? {} : { budget_id: request.budgetId }),
    saves_texts: request.savesTexts,
  });
  return {
    ...(fields.name === undefined ? {} : { name: fields.name }),
    ...(fields.active === undefined ? {} : { active: fields.active }),
    ...(fields.cap_credits === undefined ? {} : { spendLimit: fields.cap_credits }),
    ...(fields.no_cap === undefined ? {} : { spendLimit: null }),
    ...(fields.period === undefined ? {} : { period: fields.period }),
    ...(fields.expires_at === undefined ? {} : { expiresAt: fields.expires_at }),
    ...(fields.never_expires === undefined ? {} : { expiresAt: null }),
    ...(fields.default_response_format === undefined
      ? {}
      : { responseFormat: fields.default_response_format }),
    ...(fields.allowed_models === undefined ? {} : { allowedModels: fields.allowed_models }),
    ...(fields.all_models === undefined ? {} : { allowedModels: null }),
    ...(fields.allowed_providers === undefined ? {} : { allowedProviders: fields.allowed_providers }),
    ...(fields.all_providers === undefined ? {} : { allowedProviders: null }),
    ...(fields.budget_id === undefined ? {} : { budgetId: fields.budget_id }),
    ...(fields.saves_texts === undefined ? {} : { savesTexts: fields.saves_texts }),
  };
}

/** @throws ServiceError invalid_value */
function requireKind(kind: ProtoKind): KeyKind {
  return parseRequest(z.object({ kind: kindField }), { kind: kindOf(kind) }).kind;
}
