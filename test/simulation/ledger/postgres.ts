// Statements on their way to PostgreSQL and back. The server may be away, and a statement or its answer may be lost:
// then nobody knows whether it was carried out.
import { timedCall } from "../world/network.ts";
import type { Life } from "../world/process.ts";

/** Error of the driver when a connection breaks. */
export class ConnectionLost extends Error {
  readonly code = "ECONNRESET";
}

/** The end of a statement that has reached the server: one of the three is called, once. */
export interface Ending<Reply> {
  answer(reply: Reply): void;
  refuse(error: unknown): void;
  /** The server has gone before the end. */
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
  const call = timedCall<Reply>(life, undefined, () => error("no answer"));
  if (!life.acts()) return call.promise;
  const lose = () => {
    const lost = error("the connection is lost");
    world.after(1, () => call.fail(lost));
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
    execute({
      answer: (reply) => {
        if (!world.lost()) {
          world.after(1, () => call.settle(reply));
          return;
        }
        world.count("commits whose reply was lost");
        lose();
      },
      refuse: (reason) => world.after(1, () => call.fail(reason)),
      lose,
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
