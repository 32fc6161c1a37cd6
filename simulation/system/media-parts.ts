// What the real media work is given in a simulated process: providers, a storage and a catalogue.
import type { CatalogCopy } from "@gr/clients";
import type {
  ImageJob,
  Maker,
  MediaProvider,
  Progress,
} from "@gr/media-generation/src/providers/provider.ts";
import { ProviderError } from "@gr/media-generation/src/providers/provider-error.ts";
import type { MediaStorage } from "@gr/media-generation/src/storage/media-storage.ts";
import { checkDispatch } from "../books/invariants.ts";
import { numberOf } from "../ledger/ids.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Life } from "../world/process.ts";
import { POLL_PAUSE_MS } from "../world/timing.ts";
import type { Request } from "./request.ts";
import type { Upstream, UpstreamReply } from "./upstream.ts";

/** Hosted files, which survive everything. */
export type Files = Set<string>;

export function catalogOf(): CatalogCopy {
  return {
    find: () => undefined,
    version: () => "v1",
    start: async () => undefined,
    stop: async () => undefined,
  };
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
    put: async (name) => {
      if (world.random.chance(0.01)) {
        world.count("files that could not be stored");
        throw new Error("the disk is full");
      }
      await change(() => files.add(name));
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
  ledger: Ledger,
  upstream: Upstream,
  requests: readonly Request[],
): MediaProvider {
  const { provider: name } = upstream;
  const lost = () => new ProviderError("unknown_outcome", "no answer", { accepted: true });
  const submit: Maker<ImageJob>["submit"] = async ({ requestId }, signal) => {
    const request = requests[numberOf(requestId)];
    if (request === undefined) throw new Error(`there is no request ${requestId}`);
    checkDispatch(life.world, ledger, request.hold, name);
    const { first } = upstream.send(life, request);
    const reply = await unless(
      life,
      signal,
      first.promise.catch(() => undefined),
      lost,
    );
    return progressOf(reply, request.hold);
  };
  return {
    name,
    makes: { image: { mostAtOnce: 10, submit } },
    poll: async ({ hold }, signal) => {
      const polled = upstream.poll(life, Number(hold)).catch(() => undefined);
      const reply = await unless(life, signal, polled, lost);
      return reply === "pending" ? pending(Number(hold)) : progressOf(reply, Number(hold));
    },
    cancel: async ({ hold }) => upstream.cancel(life, Number(hold)),
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

function pending(hold: number): Progress {
  return { state: "pending", operation: { hold }, pollAfterMs: POLL_PAUSE_MS };
}

/** @throws ProviderError */
function progressOf(reply: UpstreamReply | undefined, hold: number): Progress {
  switch (reply?.kind) {
    case "answer": {
      const usage = reply.cost === undefined ? {} : { usage: { billed: reply.cost } };
      return { state: "succeeded", artifacts: [{ stream: [PICTURE], type: "image/png" }], ...usage };
    }
    case "queued":
      return pending(hold);
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

const PICTURE = Buffer.alloc(1);

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
