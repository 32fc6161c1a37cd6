// What the invariants must know of an attempt, whoever makes it.

import type { AttemptContext, AttemptEnd, Kinds, Producer } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import type { Life } from "../world/process.ts";
import type { Request } from "./request.ts";

/** Trouble between processes is expected, a defect of the code is not. */
export function isTrouble(error: unknown): boolean {
  return error instanceof ServiceError || (error as { code?: string }).code === "ECONNRESET";
}

/** @returns as `attempt`; a defect ends the history */
export async function watchAttempt<K extends Kinds>(
  life: Life,
  request: Request,
  attempt: () => Promise<AttemptEnd<K>>,
): Promise<AttemptEnd<K>> {
  const { world } = life;
  const end = await attempt().catch((error) => {
    throw isTrouble(error) ? error : world.fail(error);
  });
  if (world.tracing) world.note(`attempt of ${request.hold} ends: ${end.kind}`);
  if (end.kind === "delivered") {
    if (end.bill === undefined) request.deliveredAt = world.now;
  }
  if (end.kind === "failed" && end.cost === undefined) {
    request.failedAt = world.now;
    request.searcher = life;
  }
  return end;
}

export function watchProducer<K extends Kinds>(
  life: Life,
  request: Request,
  { routes, attempt }: Producer<K>,
): Producer<K> {
  return {
    routes,
    attempt: async (route, context: AttemptContext) => {
      const end = await watchAttempt(life, request, () => attempt(route, context));
      if (end.kind === "delivered") {
        request.delivered = true;
        request.made = true;
      }
      return end;
    },
  };
}
