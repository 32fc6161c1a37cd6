// Redelivers an ended delivery for its owner: the attempts begin anew, under the same id. A delivery is restarted at most
// once a minute, so that no client can flood a receiver at no cost.
import { ServiceError } from "@gr/proto";
import type { Clock } from "@gr/runtime";
import { type Delivery, uuidOf } from "./delivery.ts";
import type { DeliveryOwner, DeliveryStore } from "./delivery-store.ts";

const PAUSE_MS = 60_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export interface RedeliverDeps {
  readonly deliveries: Pick<DeliveryStore, "find" | "restart">;
  readonly clock: Clock;
}

/** @throws ServiceError delivery_not_found, rate_limit_exceeded */
export async function redeliver(
  { deliveries, clock }: RedeliverDeps,
  owner: DeliveryOwner,
  id: string,
): Promise<Delivery> {
  const delivery = await findDelivery(deliveries, owner, id);
  if (delivery.state === "pending") return delivery;
  const now = clock.now();
  const retryAfterMs = (delivery.lastAttemptAt ?? 0) + PAUSE_MS - now;
  if (retryAfterMs > 0) {
    const message = "This webhook was sent within the last minute; redeliver it later.";
    throw new ServiceError("rate_limit_exceeded", message, { retryAfterMs });
  }
  return (await deliveries.restart(delivery.id, now)) ?? delivery;
}

/** @param id with or without its prefix. @throws ServiceError delivery_not_found */
export async function findDelivery(
  deliveries: Pick<DeliveryStore, "find">,
  owner: DeliveryOwner,
  id: string,
): Promise<Delivery> {
  const uuid = uuidOf(id);
  const found = UUID.test(uuid) ? await deliveries.find(owner, uuid.toLowerCase()) : undefined;
  if (found !== undefined) return found;
  throw new ServiceError("delivery_not_found", "There is no webhook delivery with this id.", { param: "id" });
}
