// WebhookService over RPC: services hand over events, operators and the console change receivers and secrets.
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type GetWebhookSettingsRequest,
  type ListWebhookDeliveriesRequest,
  type RedeliverWebhookRequest,
  type RotateWebhookSecretRequest,
  type SendEventRequest,
  type SetWebhookReceiverRequest,
  type WebhookDeliverySchema,
  WebhookService,
  WebhookState,
} from "@gr/proto/webhooks";
import { implement, pageOf, parseRequest, type RpcService } from "@gr/runtime";
import { z } from "zod";
import { idField, MOST, USUAL_PAGE } from "../log/log-query.ts";
import type { Callbacks } from "./callbacks.ts";
import {
  DELIVERY_STATES,
  type Delivery,
  type DeliveryState,
  MOST_DATA_BYTES,
  publicIdOf,
} from "./delivery.ts";
import type { DeliveryRouteDeps } from "./delivery-routes.ts";
import { MOST_RECEIVERS, type ReceiverStore } from "./receiver-store.ts";
import { findDelivery, redeliver } from "./redeliver.ts";
import { secretText } from "./signing-secret.ts";

const STATE = {
  pending: WebhookState.PENDING,
  delivered: WebhookState.DELIVERED,
  failed: WebhookState.FAILED,
} satisfies Record<DeliveryState, WebhookState>;
const MOST_TYPE_CHARACTERS = 100;

const account = z.object({ account_id: idField("account_id") });
/** Empty: the account. */
const keyField = z.union([z.literal(""), idField("key_id")], { error: "key_id must be a UUID or empty" });

const eventFields = account.extend({
  id: idField("id"),
  key_id: keyField,
  type: z
    .string()
    .max(MOST_TYPE_CHARACTERS, `type must have at most ${MOST_TYPE_CHARACTERS} characters`)
    .regex(
      /^[a-z0-9_]+(\.[a-z0-9_]+)*$/,
      "type must be words of small letters, digits and _, with dots between them",
    ),
  data: z
    .string()
    .refine(
      (text) => Buffer.byteLength(text) <= MOST_DATA_BYTES,
      `data must have at most ${MOST_DATA_BYTES} bytes`,
    )
    .transform((text, context) => {
      const value = parsed(text);
      if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
      context.addIssue("data must be a JSON object");
      return z.NEVER;
    }),
  url: z.string(),
});

const receiverFields = account.extend({ key_id: keyField, url: z.string() });

const pageFields = account.extend({
  key_id: keyField,
  state: z.literal(Object.values(STATE), "It must be a state of this contract").optional(),
  after: z.string(),
  limit: z.number().int().min(1).max(MOST, `It must be from 1 to ${MOST}, or 0 for the default`).optional(),
});

export interface WebhookCallsDeps extends DeliveryRouteDeps {
  readonly receivers: ReceiverStore;
  readonly callbacks: Pick<Callbacks, "check">;
}

export function webhookRpc({ deliveries, receivers, callbacks, clock }: WebhookCallsDeps): RpcService {
  return implement(WebhookService, {
    async sendEvent(request: SendEventRequest) {
      const { accountId: account_id, keyId: key_id, id, type, data, url: named } = request;
      const event = parseRequest(eventFields, { account_id, key_id, id, type, data, url: named });
      const { account_id: accountId, key_id: keyId } = event;
      const url = named === "" ? await receivers.urlOf(accountId, keyId) : callbacks.check(named, "url");
      if (url === undefined) return { accepted: false };
      await deliveries.add({ id: event.id, accountId, keyId, url, type, data: event.data });
      return { accepted: true };
    },
    async getWebhookSettings(request: GetWebhookSettingsRequest) {
      const { account_id: accountId } = parseRequest(account, { account_id: request.accountId });
      const [all, ages] = await Promise.all([
        receivers.listReceivers(accountId, undefined, MOST_RECEIVERS),
        receivers.secretAges(accountId, clock.now()),
      ]);
      const secrets = ages.map(({ createdAt, expiresAt }) => ({
        createdAt: BigInt(createdAt),
        ...(expiresAt === undefined ? {} : { expiresAt: BigInt(expiresAt) }),
      }));
      return { receivers: all.map((one) => ({ ...one })), secrets };
    },
    async checkWebhookUrl({ url }) {
      return { url: callbacks.check(url, "url") };
    },
    async setWebhookReceiver({ accountId, keyId, url: named }: SetWebhookReceiverRequest) {
      const fields = parseRequest(receiverFields, { account_id: accountId, key_id: keyId, url: named });
      const { account_id: account, key_id: key } = fields;
      if (named === "") {
        await receivers.removeReceiver(account, key);
        return { url: "" };
      }
      const url = callbacks.check(named, "url");
      await receivers.setReceiver(account, key, url);
      return { url };
    },
    async rotateWebhookSecret(request: RotateWebhookSecretRequest) {
      const { account_id: accountId } = parseRequest(account, { account_id: request.accountId });
      return { secret: secretText(await receivers.rotate(accountId, clock.now())) };
    },
    async listWebhookDeliveries({ accountId, keyId, state, after, limit }: ListWebhookDeliveriesRequest) {
      const fields = parseRequest(pageFields, {
        account_id: accountId,
        key_id: keyId,
        state: state || undefined,
        after,
        limit: limit || undefined,
      });
      const owner = { accountId: fields.account_id, keyId: fields.key_id || undefined };
      const before = after === "" ? undefined : (await findDelivery(deliveries, owner, after)).id;
      const wanted = DELIVERY_STATES.find((each) => STATE[each] === fields.state);
      const most = fields.limit ?? USUAL_PAGE;
      const { entries, hasMore } = pageOf(await deliveries.list(owner, wanted, before, most + 1), most);
      return { deliveries: entries.map(messageOf), hasMore };
    },
    async redeliverWebhook({ accountId, id }: RedeliverWebhookRequest) {
      const owner = { accountId: parseRequest(account, { account_id: accountId }).account_id };
      return { delivery: messageOf(await redeliver({ deliveries, clock }, owner, id)) };
    },
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function messageOf(delivery: Delivery): MessageInitShape<typeof WebhookDeliverySchema> {
  const { keyId, url, type, data, state, attempts, createdAt, dueAt, lastAttemptAt, endedAt } = delivery;
  return {
    id: publicIdOf(delivery),
    keyId,
    url,
    type,
    data: JSON.stringify(data),
    state: STATE[state],
    attempts,
    createdAt: BigInt(createdAt),
    ...(state === "pending" ? { nextAttemptAt: BigInt(dueAt) } : {}),
    ...(lastAttemptAt === undefined ? {} : { lastAttemptAt: BigInt(lastAttemptAt) }),
    lastStatus: delivery.lastStatus ?? 0,
    lastError: delivery.lastError ?? "",
    ...(endedAt === undefined ? {} : { endedAt: BigInt(endedAt) }),
  };
}
