// TokenPump writes the tokens of one stream, one write each, at a steady pace.
// Invariant: no token is created while the reader is behind, so a slow or dead reader costs no memory.
import type { ServerResponse } from "node:http";

export interface PumpedStream {
  readonly response: ServerResponse;
  readonly count: number;
  readonly delayMs: number;
  /** The bytes of the next token. */
  frame(): string;
  /** Called exactly once: with all tokens, or with those before the client's disconnection. */
  done(tokens: number, gone: boolean): void;
}

/** Longest time without reading, in milliseconds. The stream then ends as if the client had disconnected. */
const LONGEST_STALL_MS = 300_000;
/** Without a delay, the event loop runs after this number of tokens. */
const TOKENS_PER_TURN = 32;

export function pumpTokens(stream: PumpedStream): void {
  const { response, count, delayMs } = stream;
  let tokens = 0;
  let over = false;
  let timer: NodeJS.Timeout | undefined;

  function finish(gone: boolean): void {
    if (over) return;
    over = true;
    clearTimeout(timer);
    response.off("close", leave);
    response.off("drain", step);
    stream.done(tokens, gone);
  }

  function leave(): void {
    finish(true);
  }

  function step(): void {
    clearTimeout(timer);
    while (!over) {
      if (tokens === count) {
        finish(false);
        return;
      }
      const flowing = response.write(stream.frame());
      tokens++;
      if (!flowing) {
        response.once("drain", step);
        timer = setTimeout(() => response.destroy(), LONGEST_STALL_MS);
        return;
      }
      if (tokens === count) continue;
      if (delayMs > 0) {
        timer = setTimeout(step, delayMs);
        return;
      }
      if (tokens % TOKENS_PER_TURN === 0) {
        setImmediate(step);
        return;
      }
    }
  }

  response.once("close", leave);
  if (response.destroyed) leave();
  else step();
}
