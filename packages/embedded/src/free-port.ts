// A TCP port of the loopback interface that nobody listens on, claimed until this process ends: below the range that
// systems give to outgoing connections, and in another part of the range in each process.
// A UDP socket on the same number is the claim. The system gives it to one process only and takes it back whatever
// ends the process; so no other process is given the port between now and the moment when somebody listens on it.
import { createSocket } from "node:dgram";
import { createServer } from "node:net";

const FIRST = 12_000;
const COUNT = 20_000;
/** Neighbouring process ids start far apart. */
const STRIDE = 7_919;

let next = FIRST + ((process.pid * STRIDE) % COUNT);

/**
 * @param from the port to look at first, 12000 to 31999; without it, the one after the last of this process
 * @throws Error when every port of the range is taken
 */
export async function freePort(from = next): Promise<number> {
  for (let tried = 0; tried < COUNT; tried += 1) {
    const port = FIRST + ((from - FIRST + tried) % COUNT);
    if (!(await claim(port))) continue;
    next = FIRST + ((port + 1 - FIRST) % COUNT);
    if (await isFree(port)) return port;
  }
  throw new Error("no port of the loopback interface is free");
}

function claim(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket("udp4");
    socket.once("error", () => {
      socket.close();
      resolve(false);
    });
    socket.bind({ port, address: "127.0.0.1", exclusive: true }, () => {
      socket.unref();
      resolve(true);
    });
  });
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once("error", () => resolve(false));
    probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
  });
}
