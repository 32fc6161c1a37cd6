// Media parts own the surroundings of the real media work in a simulated process: providers, a storage and a catalogue.
import type { CatalogCopy } from "@gr/clients";
import {
  type MediaJob,
  type MediaProvider,
  type MediaStorage,
  type Progress,
  ProviderError,
  StorageError,
} from "@gr/media-generation/simulated";
import { checkDispatch, checkFallBack } from "../books/invariants.ts";
import { numberOf } from "../ledger/ids.ts";
import type { Life } from "../world/process.ts";
import { POLL_PAUSE_MS } from "../world/timing.ts";
import type { Surroundings } from "./surroundings.ts";
import type { Piece, Upstream, UpstreamReply } from "./upstream.ts";

/** Hosted files, which survive everything, with the life that wrote each, and when. */
export type Files = Map<string, { readonly by: Life; readonly at: number }>;

export function catalogOf(): Pick<CatalogCopy, "find"> {
  return { find: () => undefined };
}

export function storageOf(life: Life, files: Files): MediaStorage {
  const { world } = life;
  /** One change of the folder. */
  const change = async (make: () => void) => {
    const waiting = life.wait<void>();
    if (life.acts()) {
      world.after(world.random.between(1, 5), () => {
        make();
        waiting.settle();
      });
    }
    await waiting.promise;
  };
  return {
    put: async (name, content) => {
      if (Symbol.asyncIterator in content) for await (const _ of content);
      if (world.random.chance(0.01)) {
        world.count("files that could not be stored");
        throw new StorageError("the disk is full");
      }
      await change(() => files.set(name, { by: life, at: world.now }));
    },
    delete: (name) => change(() => files.delete(name)),
    size: async () => undefined,
    read: () => {
      throw new Error("nobody reads files here");
    },
    sweep: async () => undefined,
    check: async () => undefined,
  };
}

/** A provider as one process reaches it. */
export function providerOf(
  life: Life,
  { ledger, upstreams, requests }: Pick<Surroundings, "ledger" | "upstreams" | "requests">,
  upstream: Upstream,
): MediaProvider {
  const { world } = life;
  const { provider: name, mostAtOnce } = upstream;
  const lost = () => new ProviderError("unknown_outcome", "no answer", { accepted: true });
  const requestOf = (hold: number) => {
    const request = requests[hold];
    if (request === undefined) throw new Error(`there is no request ${hold}`);
    return request;
  };
  /** Notes a delivered picture, also if its process fails afterwards. */
  const handed = (progress: Progress, hold: number) => {
    const request = requestOf(hold);
    if (progress.state === "succeeded") {
      request.handed.set(life, (request.handed.get(life) ?? 0) + progress.artifacts.length);
    }
    return progress;
  };
  const submit = async ({ requestId, part, count }: MediaJob, signal: AbortSignal) => {
    const hold = numberOf(requestId);
    checkDispatch(world, ledger, hold, name);
    checkFallBack(world, hold, name, billingOf(upstreams, hold, name));
    if (part === 2) world.count("media: requests of several jobs");
    if (firstOfSecond(upstreams, hold, upstream)) world.count("media: second providers");
    const { first } = upstream.send(life, requestOf(hold), undefined, { part, count });
    const sent = first.promise.catch(() => undefined);
    return handed(progressOf(await unless(life, signal, sent, lost), { hold, part, count }), hold);
  };
  return {
    name,
    kinds: { image: { mostAtOnce, submit }, video: { mostAtOnce: 1, submit } },
    poll: async (operation, signal) => {
      const [hold, part, count] = [operation["hold"], operation["part"], operation["count"]].map(Number);
      const job = { hold: hold ?? 0, part: part ?? 1, count: count ?? 1 };
      const polled = upstream.poll(life, job.hold, job.part).catch(() => undefined);
      const reply = await unless(life, signal, polled, lost);
      failSometimes(life, reply);
      return handed(reply === "pending" ? pending(job) : progressOf(reply, job), job.hold);
    },
    cancel: async ({ hold, part }) => upstream.cancel(life, Number(hold), Number(part)),
    ...(upstream.askable
      ? {
          lookUp: async (requestId: string) => {
            const found = await upstream.lookUp(life, numberOf(requestId));
            if (found === "silent") throw new Error("the provider did not say");
            return found === "unknown" ? undefined : found.cost;
          },
        }
      : {}),
  };
}

/** Returns other providers with a bill of a request, now or later. */
function billingOf(upstreams: ReadonlyMap<string, Upstream>, hold: number, but: string): string[] {
  const others = [...upstreams.values()].filter(({ provider }) => provider !== but);
  return others
    .filter(({ jobs }) => jobs.get(hold)?.some(({ plan }) => plan.bill > 0n))
    .map(({ provider }) => provider);
}

function firstOfSecond(upstreams: ReadonlyMap<string, Upstream>, hold: number, upstream: Upstream): boolean {
  const others = [...upstreams.values()].filter((each) => each !== upstream);
  return !upstream.sent.has(hold) && others.some(({ sent }) => sent.has(hold));
}

/** Adapters may say that a failed poll was not accepted, which is wrong. @throws ProviderError */
function failSometimes({ world }: Life, reply: UpstreamReply | "pending" | undefined): void {
  if (reply === undefined) return;
  const dice = world.random.next();
  if (dice < 0.04) {
    world.count("media: polls that failed and said nothing");
    throw new ProviderError("unavailable", "try again", { accepted: false });
  }
  if (dice < 0.05) {
    world.count("media: polls that ended their job");
    throw new ProviderError("misconfigured", "the key is not valid", { accepted: false });
  }
}

interface Asked extends Piece {
  readonly hold: number;
}

function pending({ hold, part, count }: Asked): Progress {
  return { state: "pending", operation: { hold, part, count }, pollAfterMs: POLL_PAUSE_MS };
}

/** @throws ProviderError */
function progressOf(reply: UpstreamReply | undefined, asked: Asked): Progress {
  switch (reply?.kind) {
    case "answer": {
      const usage = reply.cost === undefined ? {} : { usage: { billed: reply.cost } };
      const artifacts = Array.from({ length: asked.count }, () => ({ stream: [FILM], type: "video/mp4" }));
      return { state: "succeeded", artifacts, ...usage };
    }
    case "queued":
      return pending(asked);
    case "refused":
      throw new ProviderError(reply.elsewhere ? "unavailable" : "rejected", "refused", { accepted: false });
    case "not sent":
      throw new ProviderError("unavailable", "it cannot be reached", { accepted: false });
    case "failed":
      throw new ProviderError("failed", "it failed", { accepted: true, usage: { billed: reply.cost } });
    case "failed silently":
      // Refused by moderation, perhaps after the picture was made.
      throw new ProviderError("blocked", "it failed", { accepted: true });
    default:
      throw new ProviderError("unknown_outcome", "no answer", { accepted: true });
  }
}

/** First bytes of an MP4, which the media work reads; pictures are drawn elsewhere. */
const FILM = Buffer.from("\0\0\0\x0cftypisom", "latin1");

function unless<T>(life: Life, signal: AbortSignal, work: Promise<T>, lost: () => Error): Promise<T> {
  if (signal.aborted) return Promise.reject(lost());
  return new Promise((resolve, reject) => {
    const abort = () => reject(lost());
    const done = life.onAbort(signal, abort);
    work.then(
      (value) => {
        done();
        resolve(value);
      },
      (error) => {
        done();
        reject(error);
      },
    );
  });
}
