// The log of deliveries over HTTP: an API key reads, and repeats, the webhooks of its own jobs, a management key those of its
// account.
import { managementKey, normalKey, type Principal } from "@gr/identity";
import { type Access, pageOf, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { idField, limitField, USUAL_PAGE } from "../log/log-query.ts";
import { DELIVERY_STATES, type Delivery, publicIdOf } from "./delivery.ts";
import type { DeliveryOwner, DeliveryStore } from "./delivery-store.ts";
import { findDelivery, type RedeliverDeps, redeliver } from "./redeliver.ts";

export const DELIVERIES_PATH = "/v1/webhooks/deliveries";
/** Path of the webhooks of an account, for its management keys. */
export const ACCOUNT_PATH = "/v1/account/webhooks";

export interface DeliveryRouteDeps extends RedeliverDeps {
  readonly deliveries: DeliveryStore;
}

const time = () => z.string().meta({ format: "date-time" });

const deliverySchema = z.object({
  id: z.string().describe("the webhook-id of each attempt"),
  object: z.literal("webhook.delivery"),
  key_id: z.string().nullable().describe("API key of the job; null for an event of the account"),
  type: z.string().describe("type of the event, for example video.completed"),
  url: z.string(),
  data: z.looseObject({}).describe("data of the event"),
  status: z.enum(DELIVERY_STATES).describe("pending: an attempt follows; failed: none follows"),
  attempts: z.number().int().describe("ended attempts since its creation or last redelivery"),
  created_at: time(),
  next_attempt_at: time().nullable(),
  last_attempt_at: time().nullable(),
  last_status: z.number().int().nullable().describe("HTTP status of the last answer"),
  last_error: z.string().nullable(),
  ended_at: time().nullable(),
});

const pageSchema = z.object({
  object: z.literal("list"),
  data: z.array(deliverySchema),
  has_more: z.boolean(),
  first_id: z.string().nullable(),
  last_id: z.string().nullable(),
});

/** One of the two views of the log. */
interface DeliveryView {
  readonly path: string;
  readonly access: Access<Principal>;
  readonly whose: string;
  /** Further fields of the query. */
  readonly fields: z.ZodRawShape;
  /** @param query with the fields of this view */
  ownerOf(caller: Principal, query: object): DeliveryOwner;
}

const OWN: DeliveryView = {
  path: DELIVERIES_PATH,
  access: normalKey,
  whose: "this key",
  fields: {},
  ownerOf: ({ accountId, keyId }) => ({ accountId, keyId }),
};

const ACCOUNT: DeliveryView = {
  path: `${ACCOUNT_PATH}/deliveries`,
  access: managementKey,
  whose: "the account",
  fields: { key_id: idField("key_id").optional().describe("only those about jobs of this API key") },
  ownerOf: ({ accountId }, query) => {
    const keyId = "key_id" in query ? query.key_id : undefined;
    return { accountId, ...(typeof keyId === "string" ? { keyId } : {}) };
  },
};

export function deliveryRoutes(deps: DeliveryRouteDeps): RestRoute[] {
  return [OWN, ACCOUNT].flatMap((view) => [listRoute(deps, view), redeliverRoute(deps, view)]);
}

const notFoundOf = ({ whose }: DeliveryView) => ({
  description: `There is no delivery of ${whose} with this id`,
});

const listRoute = ({ deliveries }: DeliveryRouteDeps, view: DeliveryView) =>
  restRoute({
    method: "GET",
    path: view.path,
    access: view.access,
    summary: `List the webhooks about jobs of ${view.whose}, newest first`,
    query: z.object({
      limit: limitField,
      after: z.string().optional().describe("id of the last delivery of the page before"),
      status: z
        .enum(DELIVERY_STATES, { error: `status must be one of ${DELIVERY_STATES.join(", ")}` })
        .optional(),
      ...view.fields,
    }),
    responses: { 200: { description: "A page of deliveries", schema: pageSchema }, 404: notFoundOf(view) },
    handle: async ({ query, caller }) => {
      const { limit = USUAL_PAGE, after, status } = query;
      const owner = view.ownerOf(caller, query);
      const before = after === undefined ? undefined : (await findDelivery(deliveries, owner, after)).id;
      const { entries, hasMore } = pageOf(await deliveries.list(owner, status, before, limit + 1), limit);
      const data = entries.map(answerOf);
      return {
        object: "list",
        data,
        has_more: hasMore,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
      };
    },
  });

const redeliverRoute = (deps: DeliveryRouteDeps, view: DeliveryView) =>
  restRoute({
    method: "POST",
    path: `${view.path}/:id/redeliver`,
    access: view.access,
    summary: "Send a webhook again, under the same id",
    responses: {
      202: { description: "An attempt follows", schema: deliverySchema },
      404: notFoundOf(view),
      429: { description: "The last attempt was within the last minute" },
    },
    handle: async ({ caller, http, reply }) => {
      const { id } = (http as FastifyRequest<{ Params: { id: string } }>).params;
      return reply.status(202).send(answerOf(await redeliver(deps, view.ownerOf(caller, {}), id)));
    },
  });

function answerOf(delivery: Delivery): z.infer<typeof deliverySchema> {
  const { type, url, data, state, attempts, createdAt, dueAt, lastAttemptAt, endedAt } = delivery;
  const isoOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    id: publicIdOf(delivery),
    object: "webhook.delivery",
    key_id: delivery.keyId || null,
    type,
    url,
    data: { ...data },
    status: state,
    attempts,
    created_at: new Date(createdAt).toISOString(),
    next_attempt_at: isoOf(state === "pending" ? dueAt : undefined),
    last_attempt_at: isoOf(lastAttemptAt),
    last_status: delivery.lastStatus ?? null,
    last_error: delivery.lastError ?? null,
    ended_at: isoOf(endedAt),
  };
}
