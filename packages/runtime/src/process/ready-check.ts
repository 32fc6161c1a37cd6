// ReadyCheck tests one condition for a module's readiness. Many callers check often, so a result is cached for a moment
// and tested once at a time.
import type { Clock } from "./clock.ts";

const PATIENCE_MS = 2_000;
/** Lifetime of a failure, short because the fault may soon be repaired. */
const PROBLEM_KEPT_MS = 3_000;

export interface ReadyCheckOptions {
  /** Rejects if the condition does not hold. */
  readonly work: () => Promise<void>;
  /** Message for operators in that case, before the reason. */
  readonly problem: string;
  readonly keptMs: number;
  readonly clock: Clock;
}

export function createReadyCheck({
  work,
  problem,
  keptMs,
  clock,
}: ReadyCheckOptions): () => Promise<true | string> {
  let asked: Asked | undefined;
  return () => {
    const now = clock.now();
    if (asked === undefined || now - asked.at >= asked.keptMs || now < asked.at) {
      const asking: Asked = { at: now, keptMs, answer: answerOf(work(), problem) };
      asking.answer.then((answer) => {
        if (answer !== true) asking.keptMs = Math.min(keptMs, PROBLEM_KEPT_MS);
      });
      asked = asking;
    }
    return asked.answer;
  };
}

interface Asked {
  readonly at: number;
  keptMs: number;
  /** Never rejects. */
  readonly answer: Promise<true | string>;
}

async function answerOf(done: Promise<void>, problem: string): Promise<true | string> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE_MS} ms`)), PATIENCE_MS);
  });
  try {
    await Promise.race([done, patience]);
    return true;
  } catch (error) {
    return `${problem} (${(error as Error).message})`;
  } finally {
    clearTimeout(timer);
  }
}
