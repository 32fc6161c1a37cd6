// Writes the tokens of one stream, one write each, at a steady pace.
// Invariant: no token is made while the reader is behind, so a slow or dead reader costs no memory.
import type { ServerResponse } from "node:http";

export interface PumpedStream {
  readonly response: ServerResponse;
  readonly count: number;
  readonly delayMs: number;
  /** The bytes of the next token. */
  frame(): string;
  /** Called exactly once: with all tokens made, or with those made until the client left. */
  done(made: number, gone: boolean): void;
}

/** A reader that takes nothing for this long is given up: its stream ends as if it had left. */
const LONGEST_STALL_MS = 300_000;
/** Without a delay, the event loop gets a turn after this many tokens. */
const TOKENS_PER_TURN = 32;

export function pumpTokens(stream: PumpedStream): void {
  const { response, count, delayMs } = stream;
  let made = 0;
  let over = false;
  let timer: NodeJS.Timeout | undefined;

  function finish(gone: boolean): void {
    if (over) return;
    over = true;
    clearTimeout(timer);
    response.off("close", leave);
    response.off("drain", step);
    stream.done(made, gone);
  }

  function leave(): void {
    finish(true);
  }

  function step(): void {
    clearTimeout(timer);
    while (!over) {
      if (made === count) {
        finish(false);
        return;
      }
      const flowing = response.write(stream.frame());
      made++;
      if (!flowing) {
        response.once("drain", step);
        timer = setTimeout(() => response.destroy(), LONGEST_STALL_MS);
        return;
      }
      if (made === count) continue;
      if (delayMs > 0) {
        timer = setTimeout(step, delayMs);
        return;
      }
      if (made % TOKENS_PER_TURN === 0) {
        setImmediate(step);
        return;
      }
    }
  }

  response.once("close", leave);
  if (response.destroyed) leave();
  else step();
}
