// Whether the ledger's database answers. Asked often, so an answer is kept for a moment and asked for once at a time.
import type { Clock } from "@gr/runtime";

const KEPT_MS = 1_000;
const PATIENCE_MS = 2_000;

/** @param ping rejects when the database does not answer. */
export function createReadiness(ping: () => Promise<void>, clock: Clock): () => Promise<true | string> {
  let asked: { readonly at: number; readonly answer: Promise<true | string> } | undefined;
  return () => {
    const now = clock.now();
    if (asked === undefined || now - asked.at >= KEPT_MS || now < asked.at) {
      asked = { at: now, answer: answerOf(ping()) };
    }
    return asked.answer;
  };
}

async function answerOf(pong: Promise<void>): Promise<true | string> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    await Promise.race([pong, patience]);
    return true;
  } catch (error) {
    return `PostgreSQL does not answer (${(error as Error).message})`;
  } finally {
    clearTimeout(timer);
  }
}
