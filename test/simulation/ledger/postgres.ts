// Statements on their way to PostgreSQL and back. The server may be away, and a statement or its answer may be lost:
// then nobody knows whether it was carried out.
import type { Life } from "../world/process.ts";
import { RPC_TIMEOUT_MS } from "../world/timing.ts";

/** Error of the driver when a connection breaks. */
export class ConnectionLost extends Error {
  readonly code = "ECONNRESET";
}

/** The end of a statement that has reached the server: one of the three is called, once. */
export interface Ending<Reply> {
  answer(reply: Reply): void;
  /** As `answer`, in this moment: between a read and its answer nothing can matter. */
  answerNow(reply: Reply): void;
  refuse(error: unknown): void;
  /** The server is lost before the end. */
  lose(): void;
}

/**
 * @param execute runs when the statement reaches the server, also if its process has died meanwhile
 * @param broke called when the connection is lost
 */
export function sendStatement<Reply>(
  life: Life,
  execute: (ending: Ending<Reply>) => void,
  broke: () => void = () => undefined,
): Promise<Reply> {
  const { world } = life;
  const error = (message: string) => {
    broke();
    return new ConnectionLost(message);
  };
  const call = life.wait<Reply>();
  if (!life.acts()) return call.promise;
  let hasEnded = false;
  const end = (finish: () => void) => {
    hasEnded = true;
    world.after(1, finish);
  };
  const lose = () => {
    const lost = error("the connection is lost");
    end(() => call.fail(lost));
  };
  if (world.lost()) {
    lose();
    return call.promise;
  }
  world.after(world.random.between(1, 3), () => {
    if (world.postgresAwayUntil > world.now) {
      lose();
      return;
    }
    const answer = (finish: () => void) => {
      if (!world.lost()) return finish();
      world.count("commits whose reply was lost");
      return lose();
    };
    execute({
      answer: (reply) => answer(() => end(() => call.settle(reply))),
      answerNow: (reply) =>
        answer(() => {
          hasEnded = true;
          call.settle(reply);
        }),
      refuse: (reason) => end(() => call.fail(reason)),
      lose,
    });
    // Nearly all statements end at once, so the others alone have an event for it.
    if (hasEnded) return;
    world.after(RPC_TIMEOUT_MS, () => {
      if (call.over || !life.alive) return;
      world.count("calls that timed out");
      call.fail(error("no answer"));
    });
  });
  return call.promise;
}

/** One transaction, carried out at one moment. */
export function runStatement<Reply>(life: Life, statement: () => Reply): Promise<Reply> {
  return sendStatement<Reply>(life, ({ answer, refuse }) => {
    let reply: Reply;
    try {
      reply = statement();
    } catch (error) {
      refuse(error);
      return;
    }
    answer(reply);
  });
}
