// FailingAccounts decides whether a failure speaks of the provider or of one caller, for the metric that the alert ProviderFails
// reads. It remembers for each provider the last two accounts that failed and the last two that had a generation.
// A count of all accounts would grow with them.
import type { Timer } from "@gr/runtime";

/** Milliseconds; the window of the alert. */
const WINDOW_MS = 15 * 60_000;

interface Seen {
  readonly accountId: string;
  readonly at: number;
}

export class FailingAccounts {
  readonly #clock: Pick<Timer, "now">;
  /** By provider: the latest entry of each of two accounts, the latest first. */
  readonly #failed = new Map<string, readonly Seen[]>();
  readonly #asked = new Map<string, readonly Seen[]>();

  constructor(clock: Pick<Timer, "now">) {
    this.#clock = clock;
  }

  recordSuccess(provider: string, accountId: string): void {
    this.#remember(this.#asked, provider, accountId);
  }

  /** @returns true if other accounts use the provider, and none of them fails */
  recordFailure(provider: string, accountId: string): boolean {
    this.#remember(this.#asked, provider, accountId);
    this.#remember(this.#failed, provider, accountId);
    return (
      this.#hasOther(this.#asked, provider, accountId) && !this.#hasOther(this.#failed, provider, accountId)
    );
  }

  #remember(of: Map<string, readonly Seen[]>, provider: string, accountId: string): void {
    const [other] = (of.get(provider) ?? []).filter((seen) => seen.accountId !== accountId);
    const now = { accountId, at: this.#clock.now() };
    of.set(provider, other === undefined ? [now] : [now, other]);
  }

  #hasOther(of: ReadonlyMap<string, readonly Seen[]>, provider: string, accountId: string): boolean {
    const from = this.#clock.now() - WINDOW_MS;
    return (of.get(provider) ?? []).some((seen) => seen.accountId !== accountId && seen.at > from);
  }
}
