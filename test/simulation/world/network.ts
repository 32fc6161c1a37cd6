// Calls between processes, over a network that loses, delays and repeats. A call that is not answered in time fails as the
// runtime's clients fail: with service_unavailable and an unknown outcome.
import { ServiceError } from "@gr/proto";
import { type Life, type Process, Waiting } from "./process.ts";
import { RPC_TIMEOUT_MS } from "./timing.ts";
import type { World } from "./world.ts";

/** A caller that waits for an answer. */
export interface Caller<Reply> {
  /** True after an answer or a timeout. */
  readonly over: boolean;
  settle(reply: Reply): void;
  fail(error: unknown): void;
}

/** A caller of a call that was delivered twice. */
const NOBODY: Caller<never> = { over: false, settle: () => undefined, fail: () => undefined };

export function silence(): ServiceError {
  return new ServiceError("service_unavailable", "It did not answer.", { retryAfterMs: 1_000 });
}

/** Sends a call with a timeout of `ms`. */
export function timedCall<Reply>(
  life: Life,
  ms = RPC_TIMEOUT_MS,
  error: () => unknown = silence,
): Waiting<Reply> {
  const { world } = life;
  const call = new Waiting<Reply>(life);
  if (!life.alive) return call;
  world.after(ms, () => {
    if (call.over || !life.alive) return;
    world.count("calls that timed out");
    call.fail(error());
  });
  return call;
}

/** A call to any of some like processes. */
export function callAny<Target extends { readonly process: Process }, Reply>(
  life: Life,
  targets: readonly Target[],
  deliver: (target: Target, caller: Caller<Reply>) => void,
): Promise<Reply> {
  const { world } = life;
  const { random, weather } = world;
  const call = timedCall<Reply>(life);
  if (!life.acts() || world.lost()) return call.promise;
  const copies = random.chance(weather.duplicateRate) ? 2 : 1;
  if (copies > 1) world.count("calls delivered twice");
  for (let copy = 0; copy < copies; copy += 1) {
    const target = random.pick(targets);
    world.after(world.latency(), () => {
      if (target.process.life !== undefined) deliver(target, copy === 0 ? call : NOBODY);
      // No process listens: the caller gets the error at once.
      else if (copies === 1) world.after(1, () => call.fail(silence()));
    });
  }
  return call.promise;
}

/** The way back. */
export function answerLater(world: World, answer: () => void): void {
  if (world.lost()) return;
  world.after(world.latency(), answer);
}
