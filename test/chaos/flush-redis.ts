// Empties the Redis of a running split topology, as an operator's FLUSHALL would.
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";

/** @throws Error if Redis is unreachable or refuses */
export async function flushRedis(dataDir: string): Promise<void> {
  const { addresses } = JSON.parse(await readFile(join(dataDir, "runtime.json"), "utf8"));
  const { hostname, port, password } = new URL(addresses.REDIS_URL);
  const socket = connect(Number(port), hostname);
  await once(socket, "connect");
  socket.write(`AUTH ${password}\r\nFLUSHALL\r\nQUIT\r\n`);
  const answer = await text(socket);
  if (answer !== "+OK\r\n+OK\r\n+OK\r\n") throw new Error(`Redis answered ${JSON.stringify(answer)}`);
}
