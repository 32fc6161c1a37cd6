// A process of the connections bench that holds many connections and reads nothing from them. Its arguments are a kind,
// an address and a number. It opens the connections, reports that, and ends with its parent.
import { connect } from "node:net";

const [kind = "idle", url = "", count = "0"] = process.argv.slice(2);
/** Connections that are opened at the same time. */
const TOGETHER = 200;

const { hostname, port, pathname } = new URL(url);
const request = `GET ${pathname} HTTP/1.1\r\nHost: bench\r\n\r\n`;

/** Resolves once the connection is open or has failed. */
function join(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.once("connect", () => {
      if (kind === "reader") socket.write(request);
      resolve();
    });
    // Never read from: arriving bytes fill the buffers of both ends, and then the router can send no more.
    socket.pause();
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve());
    // An idle connection notices its end by reading it.
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
