// Bytes to the router as they are, for requests that no HTTP client would send.
import { connect } from "node:net";
import type { Router } from "./topology.ts";

const GIVE_UP_MS = 10_000;

/** Everything that comes back until the router closes; with `end`, our side of the connection is closed at once. */
export function sendRaw(router: Router, bytes: string, { end }: { end: boolean }): Promise<string> {
  const { hostname, port } = new URL(router.baseUrl);
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(Number(port), hostname, () => {
      if (end) socket.end(bytes, "latin1");
      else socket.write(bytes, "latin1");
    });
    socket.setTimeout(GIVE_UP_MS, () => socket.destroy());
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    // A connection that is reset has said what it had to say.
    socket.on("error", (error) => socket.destroy(error));
    socket.on("close", () => resolve(answer));
  });
}
