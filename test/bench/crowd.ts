// A process of the connections bench that holds many connections and takes nothing from them: told a kind, an address and a
// number, it opens them, says how many are open whenever it is asked, and ends with its parent.
import { connect, type Socket } from "node:net";

const [kind = "idle", url = "", count = "0"] = process.argv.slice(2);
/** Being opened at the same time. */
const TOGETHER = 200;

const open = new Set<Socket>();
const { hostname, port, pathname } = new URL(url);
const request = `GET ${pathname} HTTP/1.1\r\nHost: bench\r\n\r\n`;

/** Resolves once the connection is there, or is not. */
function join(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      open.add(socket);
      if (kind === "reader") socket.write(request);
      resolve();
    });
    // Never read from: what comes fills the buffers of both ends, and then nothing more can be sent.
    socket.pause();
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      open.delete(socket);
      resolve();
    });
    // An idle one notices its end by reading it.
    if (kind === "idle") socket.resume();
  });
}

process.on("disconnect", () => process.exit());
process.on("message", () => process.send?.({ open: open.size }));
let left = Number(count);
const work = async () => {
  while (left > 0) {
    left -= 1;
    await join();
  }
};
await Promise.all(Array.from({ length: TOGETHER }, work));
process.send?.({ opened: true });
