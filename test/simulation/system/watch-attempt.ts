// Watch attempt owns the facts about an attempt that the invariants read, for each kind of attempt.
import { NOT_STORED } from "@gr/media-generation/simulated";
import type { AttemptContext, AttemptEnd, Broken, Kinds, Producer } from "@gr/paid-request";
import { ServiceError } from "@gr/proto";
import { violated } from "../books/invariants.ts";
import type { Life } from "../world/process.ts";
import type { Request } from "./request.ts";

/** Trouble between processes is expected, a defect of the code is not. */
export function isTrouble(error: unknown): boolean {
  return error instanceof ServiceError || (error as { code?: string }).code === "ECONNRESET";
}

/** @param wasted true if the output can be without a client. @returns as `attempt`; a defect ends the history */
export async function watchAttempt<K extends Kinds, End extends AttemptEnd<K> | Broken<K>>(
  life: Life,
  request: Request,
  attempt: () => Promise<End>,
  wasted = false,
): Promise<End> {
  const { world } = life;
  const before = request.handed.get(life) ?? 0;
  const end = await attempt().catch((error) => {
    throw isTrouble(error) ? error : world.fail(error);
  });
  if (world.tracing) world.note(`attempt of ${request.hold} ends: ${end.kind}`);
  const handed = () => (request.handed.get(life) ?? 0) - before;
  if (end.kind !== "broken") watchEnd(life, request, end, wasted ? 0 : handed());
  else {
    const otherwise = () => {
      const left = end.otherwise();
      watchEnd(life, request, left, wasted ? 0 : handed());
      return left;
    };
    return { ...end, otherwise };
  }
  return end;
}

/** @param handed pictures of this attempt for a client */
function watchEnd<K extends Kinds>(life: Life, request: Request, end: AttemptEnd<K>, handed: number): void {
  const { world } = life;
  if (end.kind === "delivered" && end.bill === undefined) {
    request.deliveredAt = world.now;
    request.searcher = life;
  }
  if (end.kind === "failed") {
    if (handed > 0 && end.why !== NOT_STORED) {
      throw world.fail(
        violated("I13", `${request.hold} was handed ${handed} pictures, and is called failed`),
      );
    }
    if (end.cost === undefined) {
      request.failedAt = world.now;
      request.searcher = life;
    }
  }
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
