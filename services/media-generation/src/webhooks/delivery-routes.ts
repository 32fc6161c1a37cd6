// The log of deliveries over HTTP: a key reads, and repeats, the webhooks of its own jobs.
import { normalKey } from "@gr/identity";
import { pageOf, type RestRoute, restRoute } from "@gr/runtime";
import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { limitField, USUAL_PAGE } from "../log/log-query.ts";
import { DELIVERY_STATES, type Delivery, publicIdOf } from "./delivery.ts";
import type { DeliveryStore } from "./delivery-store.ts";
import { findDelivery, type RedeliverDeps, redeliver } from "./redeliver.ts";

export const DELIVERIES_PATH = "/v1/webhooks/deliveries";

export interface DeliveryRouteDeps extends RedeliverDeps {
  readonly deliveries: DeliveryStore;
}

const time = () => z.string().meta({ format: "date-time" });

const deliverySchema = z.object({
  id: z.string().describe("the webhook-id of each attempt"),
  object: z.literal("webhook.delivery"),
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

const notFound = { description: "This key has no delivery with this id" };

export function deliveryRoutes(deps: DeliveryRouteDeps): RestRoute[] {
  return [listRoute(deps), redeliverRoute(deps)];
}

const listRoute = ({ deliveries }: DeliveryRouteDeps) =>
  restRoute({
    method: "GET",
    path: DELIVERIES_PATH,
    access: normalKey,
    summary: "List the webhooks about jobs of this key, newest first",
    query: z.object({
      limit: limitField,
      after: z.string().optional().describe("id of the last delivery of the page before"),
      status: z
        .enum(DELIVERY_STATES, { error: `status must be one of ${DELIVERY_STATES.join(", ")}` })
        .optional(),
    }),
    responses: { 200: { description: "A page of deliveries", schema: pageSchema }, 404: notFound },
    handle: async ({ query: { limit = USUAL_PAGE, after, status }, caller }) => {
      const { accountId, keyId } = caller;
      const owner = { accountId, keyId };
      const before = after === undefined ? undefined : await findDelivery(deliveries, owner, after);
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

const redeliverRoute = (deps: DeliveryRouteDeps) =>
  restRoute({
    method: "POST",
    path: `${DELIVERIES_PATH}/:id/redeliver`,
    access: normalKey,
    summary: "Send a webhook again, under the same id",
    responses: {
      202: { description: "An attempt follows", schema: deliverySchema },
      404: notFound,
      429: { description: "The last attempt was within the last minute" },
    },
    handle: async ({ caller: { accountId, keyId }, http, reply }) => {
      const { id } = (http as FastifyRequest<{ Params: { id: string } }>).params;
      return reply.status(202).send(answerOf(await redeliver(deps, { accountId, keyId }, id)));
    },
  });

function answerOf(delivery: Delivery): z.infer<typeof deliverySchema> {
  const { type, url, data, state, attempts, createdAt, dueAt, lastAttemptAt, endedAt } = delivery;
  const isoOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
  return {
    id: publicIdOf(delivery),
    object: "webhook.delivery",
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
