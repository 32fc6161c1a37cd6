// GrowingHold extends a hold before its request has used it up.
// The producer of the answer reports the usage. It uses nothing beyond the hold until billing has decided about an
// extension.
import { type Credits, larger, smaller } from "@gr/money";
import type { ServiceError } from "@gr/proto";
import type { AttemptContext } from "./ports.ts";

export interface GrowingHoldOptions {
  readonly context: Pick<AttemptContext, "held" | "extend">;
  /** Credits that must be free for the work to continue; above zero. */
  readonly step: Credits;
  /** Expected upper bound of the usage; the work may exceed it. */
  readonly most: Credits;
  /** The hold is used up: nothing more may be used before `resume` or `refused`. */
  readonly wait: () => void;
  readonly resume: () => void;
  /** No more may be spent: the work ends now. Called once. */
  readonly refused: (why: ServiceError) => void;
}

/** Used fraction of the hold that starts an extension: early enough that a stream rarely waits. */
const EARLY = { used: 3n, of: 4n };
/** Growth factor of each extension, if the credits are free, so that long answers extend seldom. */
const GROWTH = 2n;

export class GrowingHold {
  readonly #options: GrowingHoldOptions;
  #held: Credits;
  #used: Credits = 0n;
  #asking = false;
  #waiting = false;
  /** Billing has refused an early extension; the next request follows once the hold is used up. */
  #refusedEarly = false;
  #over = false;

  constructor(options: GrowingHoldOptions) {
    this.#options = options;
    this.#held = options.context.held;
  }

  get held(): Credits {
    return this.#held;
  }

  /** @param used total cost of the work up to now */
  use(used: Credits): void {
    if (this.#over) return;
    this.#used = used;
    if (used > this.#held && !this.#waiting) {
      this.#waiting = true;
      this.#options.wait();
    }
    if (!this.#asking && (this.#waiting || this.#isEarly())) void this.#ask();
  }

  /** Ends the observation: no callback follows. */
  stop(): void {
    this.#over = true;
  }

  #isEarly(): boolean {
    if (this.#refusedEarly || this.#held >= this.#options.most) return false;
    return this.#used * EARLY.of >= this.#held * EARLY.used;
  }

  async #ask(): Promise<void> {
    const { context, step, most, resume, refused } = this.#options;
    const late = this.#waiting;
    this.#asking = true;
    const grown = larger(this.#held, this.#used) + step;
    // A step beyond the most that the work can use would be refused although no money is missing.
    const least = this.#used <= most && this.#held < most ? smaller(grown, most) : grown;
    const useful = smaller(this.#held * GROWTH, most);
    const answer = await context.extend(least, larger(least, useful));
    this.#asking = false;
    if ("held" in answer) {
      this.#held = larger(this.#held, answer.held);
      this.#refusedEarly = false;
    } else if (!late) this.#refusedEarly = true;
    if (this.#over) return;
    if (this.#waiting && this.#used <= this.#held) {
      this.#waiting = false;
      resume();
    } else if (late && "refused" in answer) {
      this.#over = true;
      refused(answer.refused);
    } else if (this.#waiting) void this.#ask();
  }
}
