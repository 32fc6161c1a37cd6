// A TCP port of the loopback interface that nobody listens on, and that nobody is likely to take before its user
// does: below the range that systems give to outgoing connections, never twice in one process, and in another part
// of the range in each process.
import { createServer } from "node:net";

const FIRST = 12_000;
const COUNT = 20_000;
/** Neighbouring process ids start far apart. */
const STRIDE = 7_919;

let next = (process.pid * STRIDE) % COUNT;

/** @throws Error when every port of the range is taken */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < COUNT; tried += 1) {
    const port = FIRST + next;
    next = (next + 1) % COUNT;
    if (await isFree(port)) return port;
  }
  throw new Error("no port of the loopback interface is free");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
