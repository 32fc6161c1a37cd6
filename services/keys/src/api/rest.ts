// The public paths of the module: POST /v1/auth/test, and the /v1/api-keys and /v1/budgets operations of management keys.
import { invalidKey, managementKey, normalKey, type Principal } from "@gr/identity";
import { formatCredits } from "@gr/money";
import { type Reason, ServiceError } from "@gr/proto";
import { FairGate, LONGEST_PAGE, loopTurns, pageFields, type RestApi, restRoute } from "@gr/runtime";
import { z } from "zod";
import { deleteKey } from "../operations/change-key.ts";
import type { KeyDeps } from "../operations/key-deps.ts";
import { listKeys } from "../operations/list-keys.ts";
import { mintKey } from "../operations/mint-key.ts";
import { currentKey, requireUnexpired } from "../operations/verify-key.ts";
import { WEB_TOKEN_NAME } from "../operations/web-token.ts";
import { type ApiKey, isoTime } from "../records/key.ts";
import { budgetRoutes } from "./budgets-rest.ts";
import { expiryField } from "./expiry.ts";
import {
  allowedModelsField,
  allowedProvidersField,
  budgetField,
  nameField,
  periodField,
  periodNeedsLimit,
  responseFormatField,
  savesTextsField,
  spendLimitField,
} from "./key-fields.ts";

const MODELS_WORDS = "Ids of models that the key may use, or their beginnings with * at the end";
const SAVES_WORDS = "True: prompts and answers of text requests with this key are saved for a number of days";
const PROVIDERS_WORDS = "Names of providers that the key may use, as in the field providers of a model";

const keyRecord = z.object({
  id: z.string(),
  name: z.string(),
  created_at: z.string().meta({ format: "date-time" }),
  is_active: z.boolean(),
  is_management: z.boolean(),
  spend_limit: z.number().nullable(),
  spend_limit_period: periodField.nullable(),
  expires_at: z.string().meta({ format: "date-time" }).nullable(),
  default_response_format: responseFormatField
    .optional()
    .describe(
      "The response_format of image and video requests without one; absent: that of the account, else url",
    ),
  allowed_models: z.array(z.string()).optional().describe(`${MODELS_WORDS}; absent = all`),
  allowed_providers: z.array(z.string()).optional().describe(`${PROVIDERS_WORDS}; absent = all`),
  budget_id: z.string().optional().describe("The budget above the key; absent = none"),
  saves_texts: z.literal(true).optional().describe(`${SAVES_WORDS}; absent = no`),
});
const mintedRecord = keyRecord.extend({ key: z.string().describe("The secret; shown in this answer only.") });
type KeyRecord = z.infer<typeof keyRecord>;

const refusals = {
  401: { description: "Missing, invalid, expired or wrong kind of key" },
  500: { description: "Internal error" },
};

/** The body of POST /v1/api-keys. Unknown fields are refused, because a misspelt limit would mint a key without one. */
export const newKeyBody = (deps: Pick<KeyDeps, "clock">) =>
  z
    .strictObject(
      {
        name: nameField,
        spend_limit: spendLimitField.nullable().default(null),
        spend_limit_period: periodField.nullable().default(null),
        expires_at: expiryField(deps.clock).nullable().default(null),
        default_response_format: responseFormatField
          .nullable()
          .default(null)
          .describe(
            "The response_format of image and video requests without one; null: that of the account, else url",
          ),
        allowed_models: allowedModelsField.nullable().default(null).describe(`${MODELS_WORDS}; null = all`),
        allowed_providers: allowedProvidersField
          .nullable()
          .default(null)
          .describe(`${PROVIDERS_WORDS}; null = all`),
        budget_id: budgetField
          .nullable()
          .default(null)
          .describe("A budget of the account, of GET /v1/budgets, whose limit the key shares; null = none"),
        saves_texts: savesTextsField.nullable().default(null).describe(`${SAVES_WORDS}; null = no`),
      },
      { error: "The body must be a JSON object" },
    )
    .check(periodNeedsLimit("spend_limit_period", "spend_limit"));

export function keysRest(deps: KeyDeps): RestApi {
  const gate = listGate();
  const keys = [testRoute(deps), mintRoute(deps), listRoute(deps, gate), deleteRoute(deps)];
  return { routes: [...keys, ...budgetRoutes(deps, gate)] };
}

const testRoute = (deps: KeyDeps) =>
  restRoute({
    method: "POST",
    path: "/v1/auth/test",
    summary: "Check an API key",
    access: normalKey,
    responses: {
      200: {
        description: "The key is valid",
        schema: z.object({
          success: z.literal(true),
          api_key: keyRecord.pick({ id: true, name: true, expires_at: true }),
        }),
      },
      401: refusals[401],
    },
    handle: async ({ caller }) => {
      const { id, name, expires_at } =
        caller.kind === "web_token" ? tokenRecordOf(deps, caller) : await keyRecordOf(deps, caller);
      return { success: true, api_key: { id, name, expires_at } };
    },
  });

/** Failures of a mint that the client gets as they are: too many keys, unknown names of models. */
const CALLERS: ReadonlySet<Reason> = new Set(["too_many_keys", "invalid_value"]);

const mintRoute = (deps: KeyDeps) =>
  restRoute({
    method: "POST",
    path: "/v1/api-keys",
    summary: "Mint a normal key for the account of the management key",
    access: managementKey,
    body: newKeyBody(deps),
    responses: {
      201: { description: "The new key, with its secret", schema: mintedRecord },
      400: { description: "A field is invalid; param names the field" },
      409: { description: "The account has the maximum number of keys" },
      ...refusals,
    },
    handle: async ({ body, caller: { accountId }, reply }) => {
      const { key, secret } = await mintKey(deps, {
        accountId,
        kind: "normal",
        name: body.name,
        spendLimit: body.spend_limit,
        period: body.spend_limit_period,
        expiresAt: body.expires_at,
        responseFormat: body.default_response_format,
        allowedModels: body.allowed_models,
        allowedProviders: body.allowed_providers,
        budgetId: body.budget_id,
        savesTexts: body.saves_texts ?? false,
      }).catch((cause) => {
        if (cause instanceof ServiceError && CALLERS.has(cause.reason)) throw cause;
        deps.events.keyNotMinted(accountId, cause);
        throw new ServiceError("internal_error", "Creating the API key failed; try again shortly.", {
          cause,
        });
      });
      return reply
        .status(201)
        .header("cache-control", "no-store")
        .send({ ...recordOf(key), key: secret });
    },
  });

/**
 * Limits lists of keys and of budgets. Management keys have no rate limit, and a page may have 1,000 entries: lists wait for
 * each other instead.
 */
const listGate = () =>
  new FairGate({
    places: 1,
    perOwner: 1,
    waitingPerOwner: Number.POSITIVE_INFINITY,
    waiting: Number.POSITIVE_INFINITY,
    name: "lists of keys and budgets",
  });

const listRoute = (deps: KeyDeps, gate: FairGate) =>
  restRoute({
    method: "GET",
    path: "/v1/api-keys",
    summary: "List the normal keys of the account, newest first",
    access: managementKey,
    query: z.object(pageFields),
    responses: {
      200: {
        description: "The keys, without secrets; has_more when there are more, after the last of these",
        schema: z.object({ data: z.array(keyRecord), has_more: z.literal(true).optional() }),
      },
      400: { description: "limit or after is invalid; param names the field" },
      ...refusals,
    },
    handle: async ({ query: { limit = LONGEST_PAGE, after }, caller: { accountId } }) => {
      return gate.run({ owner: accountId }, async () => {
        const { keys, hasMore } = await listKeys(deps, accountId, "normal", { limit, after });
        const data = await loopTurns.step({ owner: accountId }, () => keys.map(recordOf));
        return { data, ...(hasMore ? { has_more: true } : {}) };
      });
    },
  });

const deleteRoute = (deps: KeyDeps) =>
  restRoute({
    method: "DELETE",
    path: "/v1/api-keys/:id",
    summary: "Delete a normal key of the account, at once and for good",
    access: managementKey,
    responses: {
      200: {
        description: "The key is deleted",
        schema: z.object({ id: z.string(), deleted: z.literal(true) }),
      },
      404: { description: "No normal key of this account has this id" },
      ...refusals,
    },
    handle: async ({ http, caller: { accountId } }) => {
      const { id } = http.params as { id: string };
      return { id: await deleteKey(deps, { accountId, keyId: id, kind: "normal" }), deleted: true };
    },
  });

type TestedKey = Pick<KeyRecord, "id" | "name" | "expires_at">;

async function keyRecordOf(deps: KeyDeps, { accountId, keyId }: Principal): Promise<TestedKey> {
  return recordOf(await currentKey(deps, accountId, keyId));
}

/** All web tokens of an account are one entry here, as they are in the list of usage. */
function tokenRecordOf(deps: KeyDeps, { expiresAt }: Principal): TestedKey {
  if (expiresAt === undefined) throw invalidKey();
  requireUnexpired(deps, { expiresAt });
  return { id: "web_token", name: WEB_TOKEN_NAME, expires_at: isoTime(expiresAt) };
}

function recordOf(key: ApiKey): KeyRecord {
  return {
    id: key.id,
    name: key.name,
    created_at: isoTime(key.createdAt),
    is_active: key.active,
    is_management: key.kind === "management",
    // A spend limit has at most 15 digits, and a double with as many prints the same decimal.
    spend_limit: key.spendLimit === null ? null : Number(formatCredits(key.spendLimit)),
    spend_limit_period: key.period,
    expires_at: key.expiresAt === null ? null : isoTime(key.expiresAt),
    ...(key.responseFormat === null ? {} : { default_response_format: key.responseFormat }),
    ...(key.allowedModels === null ? {} : { allowed_models: [...key.allowedModels] }),
    ...(key.allowedProviders === null ? {} : { allowed_providers: [...key.allowedProviders] }),
    ...(key.budgetId === null ? {} : { budget_id: key.budgetId }),
    ...(key.savesTexts && { saves_texts: true as const }),
  };
}
