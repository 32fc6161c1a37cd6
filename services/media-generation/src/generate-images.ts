// One image request to its answer: hold, row, provider, files, charge, in this order. The hold comes first,
// so that nothing unpaid is sent; the row comes before the call, so that a hold without a row was never sent.
import { type Claim, ReleaseReason } from "@gr/clients";
import { ServiceError } from "@gr/proto";
import { isServerTrouble, sqlStateOf } from "@gr/runtime";
import { type ImageAnswer, imageAnswer } from "./answer/image-answer.ts";
import { replayAnswer } from "./answer/replay-answer.ts";
import { endInSuccess, type RunningGeneration } from "./end-generation.ts";
import type { NewGeneration } from "./generation/generation.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import type { ImageJob } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { chooseRoute } from "./request/choose-route.ts";
import { type ImageOrder, makeImageOrder } from "./request/image-order.ts";
import type { ImageRequest } from "./request/image-request.ts";
import { runGeneration, workEndsAt } from "./run-generation.ts";
import { makeMediaName } from "./storage/media-name.ts";

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

export interface GivenAnswer {
  readonly answer: ImageAnswer;
  /** Of an earlier request with the same claim: nothing was made or charged now. */
  readonly replayed: boolean;
}

/** Resolves when the charge is committed, whether the caller still listens or not. @throws ServiceError */
export async function generateImages(
  deps: GenerationDeps,
  request: ImageRequest,
  caller: Caller,
  claim: Claim | undefined,
): Promise<GivenAnswer> {
  if (deps.leases.size >= deps.config.MEDIA_MAX_RUNNING) {
    const message = "Too many images are being made at the moment; try again shortly.";
    throw new ServiceError("service_unavailable", message, { retryAfterMs: BUSY_RETRY_MS });
  }
  const replay = async (id: string): Promise<GivenAnswer> => ({
    answer: await replayAnswer(deps, caller.accountId, id),
    replayed: true,
  });
  const prepared = await prepareOrFindEarlier(deps, request, caller, claim);
  if (typeof prepared === "string") return replay(prepared);
  const { running, order } = prepared;
  const { generation, provider } = running;
  return deps.leases.during(generation.id, async () => {
    const startedAt = deps.clock.now();
    const earlier = await admit(deps, generation, claim);
    if (earlier !== undefined) return replay(earlier);
    const job = jobOf(generation, order);
    const succeeded = await runGeneration(deps, running, async (signal) => {
      // This process may have stood still since the hold: what came could not be charged for any more.
      if (deps.clock.now() < workEndsAt(deps.config, generation)) return provider.submit(job, signal);
      throw new ProviderError("unavailable", "the time for this job passed before it was sent", {
        accepted: false,
      });
    });
    const { files, ended } = await endInSuccess(deps, running, succeeded);
    deps.events.succeeded(generation, ended, (deps.clock.now() - startedAt) / 1_000);
    const pictures = files.map(({ bytes }) => bytes);
    return { answer: imageAnswer(deps.config, generation, ended, pictures), replayed: false };
  });
}

/**
 * What a request was charged for it gets again, though the catalogue or the providers have changed since and it would
 * be refused now.
 * @returns the id of that earlier request, if there is one. @throws ServiceError that names the field at fault
 */
async function prepareOrFindEarlier(
  deps: GenerationDeps,
  request: ImageRequest,
  caller: Caller,
  claim: Claim | undefined,
): Promise<{ order: ImageOrder; running: RunningGeneration } | string> {
  try {
    const order = makeImageOrder(request, deps.catalog.find(request.model));
    return { order, running: prepare(deps, order, caller) };
  } catch (refusal) {
    const { accountId, keyId: spenderId } = caller;
    const earlier = claim && (await deps.billing.findEarlier({ accountId, spenderId, claim }));
    if (earlier === undefined) throw refusal;
    return earlier;
  }
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

/**
 * Hold and row. A refused hold leaves nothing behind; a row that cannot be written frees the hold again.
 * @returns the id of the earlier, charged request that has the claim; then there is neither hold nor row
 */
async function admit(deps: GenerationDeps, generation: NewGeneration, claim: Claim | undefined) {
  const earlier = await place(deps, generation, claim);
  if (earlier !== undefined) return earlier;
  try {
    await deps.store.insert(generation, deps.config.MEDIA_LEASE_MS);
  } catch (error) {
    // An id that exists belongs to another request, and so does the hold.
    if (sqlStateOf(error) !== UNIQUE_VIOLATION) await releaseUnsent(deps, generation);
    if (!isServerTrouble(error)) throw error;
    const message = "Images cannot be made at the moment; try again shortly. You are not charged.";
    throw new ServiceError("service_unavailable", message, { retryAfterMs: BUSY_RETRY_MS, cause: error });
  }
  return undefined;
}

async function place(deps: GenerationDeps, generation: NewGeneration, claim: Claim | undefined) {
  const placed = deps.billing.place({
    holdId: generation.id,
    accountId: generation.accountId,
    spenderId: generation.keyId,
    credits: generation.hold,
    service: SERVICE,
    provider: generation.provider,
    upstreamModel: generation.upstreamModel,
    model: generation.model,
    priceVersion: generation.priceVersion,
    deadlineAt: generation.deadlineAt,
    claim,
  });
  try {
    return await placed;
  } catch (error) {
    // The hold may exist although its place was never answered, and would keep its claim until its deadline; nobody
    // waits for its release.
    if (error instanceof ServiceError && error.reason === "billing_unavailable") {
      void releaseUnsent(deps, generation);
    }
    throw error;
  }
}

async function releaseUnsent({ billing, events }: GenerationDeps, { id }: NewGeneration): Promise<void> {
  await billing.release(id, ReleaseReason.NOT_SENT).catch((error) => events.notSettled(id, error));
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
