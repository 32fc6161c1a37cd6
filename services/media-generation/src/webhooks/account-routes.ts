// The webhooks of an account over HTTP, for its management keys: default receivers and signing secrets. An API key is often in
// the hands of a customer, who must neither see the secret of the account nor redirect its webhooks.
import { managementKey } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import { type Clock, isUuid, pageOf, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { idField, limitField, USUAL_PAGE } from "../log/log-query.ts";
import { type Callbacks, MOST_URL_CHARACTERS } from "./callbacks.ts";
import { ACCOUNT_PATH } from "./delivery-routes.ts";
import type { Receiver, ReceiverStore } from "./receiver-store.ts";
import { secretText } from "./signing-secret.ts";

export interface AccountRouteDeps {
  readonly receivers: ReceiverStore;
  readonly callbacks: Pick<Callbacks, "check">;
  readonly clock: Clock;
}

const RECEIVERS_PATH = `${ACCOUNT_PATH}/receivers`;
const SECRETS_PATH = `${ACCOUNT_PATH}/secrets`;
/** Id of the receiver of the account itself. */
const OF_ACCOUNT = "account";

const receiverSchema = z.object({
  id: z.string().describe(`id of its API key, or "${OF_ACCOUNT}"`),
  object: z.literal("webhook.receiver"),
  key_id: z.string().nullable().describe("null: for all keys without a receiver"),
  url: z.string(),
});

const newReceiver = z.strictObject(
  {
    url: z
      .string({ error: "url must be a string" })
      .min(1, "url must not be empty")
      .max(MOST_URL_CHARACTERS, `url must have at most ${MOST_URL_CHARACTERS} characters`),
    key_id: idField("key_id").nullish().describe("an API key of the account; absent: the account"),
  },
  { error: "The body must be a JSON object" },
);

const secretSchema = z.object({
  object: z.literal("webhook.secret"),
  created_at: z.string().meta({ format: "date-time" }),
  expires_at: z
    .string()
    .meta({ format: "date-time" })
    .nullable()
    .describe("end of its signatures; null for the newest one"),
});

export function accountRoutes(deps: AccountRouteDeps): RestRoute[] {
  return [
    listReceivers(deps),
    setReceiver(deps),
    removeReceiver(deps),
    listSecrets(deps),
    rotateSecret(deps),
  ];
}

const listReceivers = ({ receivers }: AccountRouteDeps) =>
  restRoute({
    method: "GET",
    path: RECEIVERS_PATH,
    access: managementKey,
    summary: "List the default receivers of webhooks of the account, its own first",
    query: z.object({
      limit: limitField,
      after: z
        .union([z.literal(OF_ACCOUNT), idField("after")], {
          error: `after must be the id of an API key, or ${OF_ACCOUNT}`,
        })
        .optional()
        .describe("id of the last receiver of the page before"),
    }),
    responses: {
      200: {
        description: "A page of receivers",
        schema: z.object({
          object: z.literal("list"),
          data: z.array(receiverSchema),
          has_more: z.boolean(),
        }),
      },
    },
    handle: async ({ query: { limit = USUAL_PAGE, after }, caller: { accountId } }) => {
      const from = after === undefined ? undefined : keyIdOf(after);
      const { entries, hasMore } = pageOf(await receivers.listReceivers(accountId, from, limit + 1), limit);
      return { object: "list", data: entries.map(answerOf), has_more: hasMore };
    },
  });

const setReceiver = ({ receivers, callbacks }: AccountRouteDeps) =>
  restRoute({
    method: "POST",
    path: RECEIVERS_PATH,
    access: managementKey,
    summary: "Set the default receiver of webhooks of the account, or of one of its API keys",
    body: newReceiver,
    responses: {
      201: { description: "The receiver; it replaces the one before", schema: receiverSchema },
      400: { description: "A field is invalid, or the address is not allowed; param names the field" },
      409: { description: "The account has the maximum number of receivers" },
    },
    handle: async ({ body: { url: named, key_id: keyId }, caller: { accountId }, reply }) => {
      const receiver = { keyId: keyId ?? "", url: callbacks.check(named, "url") };
      await receivers.setReceiver(accountId, receiver.keyId, receiver.url);
      return reply.status(201).send(answerOf(receiver));
    },
  });

const removeReceiver = ({ receivers }: AccountRouteDeps) =>
  restRoute({
    method: "DELETE",
    path: `${RECEIVERS_PATH}/:id`,
    access: managementKey,
    summary: "Delete a default receiver of webhooks",
    responses: {
      200: {
        description: "The receiver is deleted",
        schema: z.object({ id: z.string(), deleted: z.literal(true) }),
      },
      404: { description: "The account has no receiver with this id" },
    },
    handle: async ({ http, caller: { accountId } }) => {
      const { id } = (http as FastifyRequest<{ Params: { id: string } }>).params;
      const isId = id === OF_ACCOUNT || isUuid(id);
      if (isId && (await receivers.removeReceiver(accountId, keyIdOf(id)))) return { id, deleted: true };
      const message = "The account has no receiver of webhooks with this id.";
      throw new ServiceError("receiver_not_found", message, { param: "id" });
    },
  });

const listSecrets = ({ receivers, clock }: AccountRouteDeps) =>
  restRoute({
    method: "GET",
    path: SECRETS_PATH,
    access: managementKey,
    summary: "List the signing secrets of the account without their texts, newest first",
    responses: {
      200: {
        description: "The secrets that sign now: two during a rotation, none before the first webhook",
        schema: z.object({ object: z.literal("list"), data: z.array(secretSchema) }),
      },
    },
    handle: async ({ caller: { accountId } }) => {
      const ages = await receivers.secretAges(accountId, clock.now());
      const data = ages.map(({ createdAt, expiresAt }) => ({
        object: "webhook.secret",
        created_at: isoOf(createdAt),
        expires_at: expiresAt === undefined ? null : isoOf(expiresAt),
      }));
      return { object: "list", data };
    },
  });

const rotateSecret = ({ receivers, clock }: AccountRouteDeps) =>
  restRoute({
    method: "POST",
    path: SECRETS_PATH,
    access: managementKey,
    summary: "Create a signing secret; the one before signs for 24 hours more",
    responses: {
      201: {
        description: "The new secret, with its text",
        schema: secretSchema.extend({
          secret: z.string().describe("whsec_ and base64; shown in this answer only"),
        }),
      },
    },
    handle: async ({ caller: { accountId }, reply }) => {
      const now = clock.now();
      const secret = secretText(await receivers.rotate(accountId, now));
      return reply
        .status(201)
        .header("cache-control", "no-store")
        .send({ object: "webhook.secret", created_at: isoOf(now), expires_at: null, secret });
    },
  });

/** The id of a key is compared as it is stored. */
function keyIdOf(id: string): string {
  return id === OF_ACCOUNT ? "" : id.toLowerCase();
}

function answerOf({ keyId, url }: Receiver): z.infer<typeof receiverSchema> {
  return { id: keyId || OF_ACCOUNT, object: "webhook.receiver", key_id: keyId || null, url };
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
