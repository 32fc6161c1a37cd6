// Statements on their way to PostgreSQL and back. The server may be away, and a statement or the news of its end may be lost:
// then nobody knows whether it was carried out.

import { timedCall } from "../world/network.ts";
import type { Life } from "../world/process.ts";

/** What pg rejects with when a connection breaks. */
class ConnectionLost extends Error {
  readonly code = "ECONNRESET";
}

/** One transaction, carried out at one moment. */
export function runStatement<Reply>(life: Life, statement: () => Reply): Promise<Reply> {
  const { world } = life;
  const call = timedCall<Reply>(life, undefined, () => new ConnectionLost("no answer"));
  if (!life.acts()) return call.promise;
  const { random } = world;
  const lost = () => call.fail(new ConnectionLost("the connection is lost"));
  if (world.lost()) {
    world.after(1, lost);
    return call.promise;
  }
  world.after(random.between(1, 3), () => {
    if (world.postgresAwayUntil > world.now) {
      world.after(1, lost);
      return;
    }
    let reply: Reply;
    try {
      reply = statement();
    } catch (error) {
      world.after(1, () => call.fail(error));
      return;
    }
    const unheard = world.lost();
    if (unheard) world.count("commits whose reply was lost");
    world.after(1, () => (unheard ? lost() : call.settle(reply)));
  });
  return call.promise;
}
