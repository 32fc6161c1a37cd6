// Bookings that carry an idempotency key of their own: when nobody can say whether one was made, the sentence names
// the id with which the same command books it once, whatever became of the first try.
import { OperatorError } from "@gr/runtime";
import { mayHaveHappened, sentenceOfFailure } from "./failure.ts";
import type { Router } from "./router.ts";

/**
 * @param what for people: "deposit".
 * @throws OperatorError that names the id, or what `book` throws when it certainly was not booked.
 */
export async function bookOnce(
  router: Router,
  what: string,
  id: string,
  book: () => Promise<unknown>,
): Promise<void> {
  try {
    await book();
  } catch (error) {
    if (!mayHaveHappened(error)) throw error;
    const sentence = sentenceOfFailure(error, router.address);
    throw new OperatorError(
      `${sentence} The ${what} may be booked or not; repeat the command with --id ${id}.`,
    );
  }
}
