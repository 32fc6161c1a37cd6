// One image request from order to answer: hold, row, provider, files, charge, in this order. The hold comes first,
// so that nothing unpaid is sent; the row comes before the call, so that a hold without a row was never sent.
import { ReleaseReason } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { chooseRoute } from "./choose-route.ts";
import { endInSuccess, type RunningGeneration } from "./end-generation.ts";
import type { NewGeneration } from "./generation.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import type { ImageFile } from "./image-file.ts";
import type { ImageOrder } from "./image-order.ts";
import { makeMediaName } from "./media-name.ts";
import type { ImageJob } from "./provider.ts";
import { runGeneration } from "./run-generation.ts";

/** Name under which our holds are placed and leased. */
export const SERVICE = "media-generation";

const BUSY_RETRY_MS = 1_000;
const UNIQUE_VIOLATION = "23505";

export interface Caller {
  /** UUID; becomes the id of the hold and of the generation. */
  readonly requestId: string;
  readonly accountId: string;
  readonly keyId: string;
}

export interface GeneratedImages {
  readonly files: readonly ImageFile[];
  /** Names of the hosted files; empty for b64_ephemeral. */
  readonly names: readonly string[];
}

/** Resolves when the charge is committed, whether the caller still listens or not. @throws ServiceError */
export async function generateImages(
  deps: GenerationDeps,
  order: ImageOrder,
  caller: Caller,
): Promise<GeneratedImages> {
  if (deps.leases.size >= deps.config.MEDIA_MAX_RUNNING) {
    const message = "Too many images are being made at the moment; try again shortly.";
    throw new ServiceError("service_unavailable", message, { retryAfterMs: BUSY_RETRY_MS });
  }
  const running = prepare(deps, order, caller);
  const { generation, provider } = running;
  return deps.leases.during(generation.id, async () => {
    const startedAt = deps.clock.now();
    await admit(deps, generation);
    const job = jobOf(generation, order);
    const succeeded = await runGeneration(deps, running, (signal) => provider.submit(job, signal));
    const { files, ending } = await endInSuccess(deps, running, succeeded);
    deps.events.succeeded(generation, ending, (deps.clock.now() - startedAt) / 1_000);
    return { files, names: generation.outputs };
  });
}

function prepare(deps: GenerationDeps, order: ImageOrder, caller: Caller): RunningGeneration {
  const { route, provider } = chooseRoute(deps, order.model);
  const kept = order.responseFormat !== "b64_ephemeral";
  const { count: n, size, quality } = order;
  const generation: NewGeneration = {
    id: caller.requestId,
    accountId: caller.accountId,
    keyId: caller.keyId,
    model: order.model.id,
    provider: provider.name,
    upstreamModel: route.upstreamModel,
    request: {
      ...(kept ? { prompt: order.prompt } : {}),
      n,
      ...(size === undefined ? {} : { size }),
      ...(quality === undefined ? {} : { quality }),
      output_format: order.outputFormat,
      response_format: order.responseFormat,
    },
    priceVersion: order.priceVersion,
    price: order.price,
    hold: order.charge,
    outputs: kept ? Array.from({ length: n }, () => makeMediaName(order.outputFormat)) : [],
    deadlineAt: deps.clock.now() + deps.config.MEDIA_TIMEOUT_MS + deps.config.HOLD_GRACE_MS,
  };
  const costing = { costPrice: route.cost, listPrice: order.price, count: n, size, quality };
  return { generation, costing, provider };
}

/** Hold and row. A refused hold leaves nothing behind; a row that cannot be written frees the hold again. */
async function admit({ billing, store, config, events }: GenerationDeps, generation: NewGeneration) {
  const { id } = generation;
  await billing.place({
    holdId: id,
    accountId: generation.accountId,
    spenderId: generation.keyId,
    credits: generation.hold,
    service: SERVICE,
    provider: generation.provider,
    model: generation.model,
    priceVersion: generation.priceVersion,
    deadlineAt: generation.deadlineAt,
  });
  const release = () =>
    billing.release(id, ReleaseReason.NOT_SENT).catch((error) => events.notSettled(id, error));
  try {
    await store.insert(generation, config.MEDIA_LEASE_MS);
  } catch (error) {
    // An id that exists belongs to another request, and so does the hold.
    if ((error as { code?: string } | null)?.code !== UNIQUE_VIOLATION) await release();
    throw error;
  }
}

function jobOf(generation: NewGeneration, order: ImageOrder): ImageJob {
  return {
    kind: "image",
    requestId: generation.id,
    model: generation.upstreamModel,
    prompt: order.prompt,
    count: order.count,
    ...(order.size === undefined ? {} : { size: order.size }),
    ...(order.quality === undefined ? {} : { quality: order.quality }),
  };
}
