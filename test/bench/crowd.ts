// A process of the connections bench that holds many connections and takes nothing from them: told a kind, an address and a
// number, it opens them, says so, and ends with its parent.
import { connect } from "node:net";

const [kind = "idle", url = "", count = "0"] = process.argv.slice(2);
/** Being opened at the same time. */
const TOGETHER = 200;

const { hostname, port, pathname } = new URL(url);
const request = `GET ${pathname} HTTP/1.1\r\nHost: bench\r\n\r\n`;

/** Resolves once the connection is there, or is not. */
function join(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      if (kind === "reader") socket.write(request);
      resolve();
    });
    // Never read from: what comes fills the buffers of both ends, and then nothing more can be sent.
    socket.pause();
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve());
    // An idle one notices its end by reading it.
    if (kind === "idle") socket.resume();
  });
}

process.on("disconnect", () => process.exit());
let left = Number(count);
const work = async () => {
  while (left > 0) {
    left -= 1;
    await join();
  }
};
await Promise.all(Array.from({ length: TOGETHER }, work));
process.send?.({ opened: true });
