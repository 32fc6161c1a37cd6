// A session between its end and that of its socket, which the library does not listen to any more.
import { once } from "node:events";
import {
  type ClientHttp2Session,
  constants,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { expect, test } from "@jest/globals";
import { PeerSessions } from "./peer-sessions.ts";

test("a call that comes between the end of a session and that of its socket is answered, and the process lives", async () => {
  const server = createServer();
  const opened: ServerHttp2Session[] = [];
  server.on("session", (session) => opened.push(session));
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.respond({ ":status": 204 }, { endStream: true });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sessions = new PeerSessions(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const call = async () => {
    const stream = await sessions.request("GET", "/", {}, {});
    stream.resume();
    const session = stream.session as ClientHttp2Session;
    await once(stream, "close");
    return session;
  };
  try {
    const session = await call();
    const again = new Promise((resolve, reject) => {
      // The manager has destroyed it: its listener is older.
      session.once("goaway", () => void call().then(resolve, reject));
    });
    opened[0]?.goaway(constants.NGHTTP2_NO_ERROR, 2 ** 31 - 1);
    expect(await again).not.toBe(session);
    // Its error is still pending, and would end the process.
    expect(session.listenerCount("error")).toBeGreaterThan(0);
  } finally {
    sessions.abort();
    for (const session of opened) session.destroy();
    server.close();
  }
});
