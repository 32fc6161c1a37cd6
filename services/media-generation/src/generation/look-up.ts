// Queries the provider's bill for a request.
import type { LookUp } from "@gr/paid-request";
import type { Timer } from "@gr/runtime";
import type { MediaProvider } from "../providers/provider.ts";
import type { GenerationEvents } from "./events.ts";
import type { MediaKinds } from "./generation.ts";
import { withinTime } from "./time-limit.ts";

const TIMEOUT_MS = 10_000;

export class MediaLookUp implements LookUp<MediaKinds> {
  readonly #providers: ReadonlyMap<string, MediaProvider>;
  readonly #events: GenerationEvents;
  readonly #clock: Timer;

  constructor(providers: ReadonlyMap<string, MediaProvider>, events: GenerationEvents, clock: Timer) {
    this.#providers = providers;
    this.#events = events;
    this.#clock = clock;
  }

  canAsk(provider: string): boolean {
    return this.#providers.get(provider)?.lookUp !== undefined;
  }

  async ask(provider: string, billId: string) {
    const lookUp = this.#providers.get(provider)?.lookUp;
    if (lookUp === undefined) return "silent" as const;
    try {
      const cost = await withinTime(this.#clock, TIMEOUT_MS, (signal) => lookUp(billId, signal));
      return cost === undefined ? ("unknown" as const) : { cost };
    } catch (error) {
      this.#events.notLookedUp(billId, error);
      return "silent" as const;
    }
  }
}
