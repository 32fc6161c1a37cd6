// A hold that grows before its request has used it up. What is used is told by whoever produces the answer; nothing more
// is used while the hold is used up and billing has not said yet whether it may grow.
import { type Credits, larger, smaller } from "@gr/money";
import type { ServiceError } from "@gr/proto";
import type { AttemptContext } from "./ports.ts";

export interface GrowingHoldOptions {
  readonly context: Pick<AttemptContext, "held" | "extend">;
  /** As much must be free for the work to go on; above zero. */
  readonly step: Credits;
  /** As much the work can use, as far as anybody knows; it may use more all the same. */
  readonly most: Credits;
  /** The hold is used up: nothing more may be used before `goOn` or `refused`. */
  readonly wait: () => void;
  readonly goOn: () => void;
  /** No more may be spent: the work ends here. Called once. */
  readonly refused: (why: ServiceError) => void;
}

/** More is asked for when so much of a hold is used: early enough that a stream rarely waits. */
const EARLY = { used: 3n, of: 4n };
/** Each time, it grows to twice its size where that is free, so that long answers ask seldom. */
const GROWTH = 2n;

export class GrowingHold {
  readonly #options: GrowingHoldOptions;
  #held: Credits;
  #used: Credits = 0n;
  #asking = false;
  #waiting = false;
  /** Billing has refused more than there is; it is asked again when that is used up. */
  #refusedEarly = false;
  #over = false;

  constructor(options: GrowingHoldOptions) {
    this.#options = options;
    this.#held = options.context.held;
  }

  get held(): Credits {
    return this.#held;
  }

  /** @param used what the work costs up to now, in all */
  use(used: Credits): void {
    if (this.#over) return;
    this.#used = used;
    if (used > this.#held && !this.#waiting) {
      this.#waiting = true;
      this.#options.wait();
    }
    if (!this.#asking && (this.#waiting || this.#isEarly())) void this.#ask();
  }

  /** The work has ended: nobody is told anything any more. */
  stop(): void {
    this.#over = true;
  }

  #isEarly(): boolean {
    if (this.#refusedEarly || this.#held >= this.#options.most) return false;
    return this.#used * EARLY.of >= this.#held * EARLY.used;
  }

  async #ask(): Promise<void> {
    const { context, step, most, goOn, refused } = this.#options;
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
      goOn();
    } else if (late && "refused" in answer) {
      this.#over = true;
      refused(answer.refused);
    } else if (this.#waiting) void this.#ask();
  }
}
