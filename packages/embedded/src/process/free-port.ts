// freePort claims an unused TCP port of the loopback interface until this process ends.
// The claim is a UDP socket on the same number, which the system grants to one process and releases when that process
// ends. So no other process gets the port before a server listens on it. The ports are below the range for outgoing
// connections, and each process starts in another part of the range.
import { createSocket } from "node:dgram";
import { createServer } from "node:net";

const FIRST = 12_000;
const COUNT = 20_000;
/** Neighbouring process ids start far apart. */
const STRIDE = 7_919;

let next = FIRST + ((process.pid * STRIDE) % COUNT);

/**
 * @param from first port to try, 12000 to 31999; default: the one after the last of this process
 * @throws Error if every port of the range is in use
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
