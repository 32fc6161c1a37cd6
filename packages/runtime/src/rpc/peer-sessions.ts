// HTTP/2 sessions to another process, by the library's manager. One thing is mended: when a session without calls is told to go
// (GOAWAY), the manager destroys it with an error, which Node raises when the socket has closed. A call that comes before
// that makes the manager forget the session, and an error that nobody listens for ends the process.
// https://github.com/connectrpc/connect-es/issues/1768
import type { ClientHttp2Session } from "node:http2";
import { Http2SessionManager } from "@connectrpc/connect-node";

export class PeerSessions extends Http2SessionManager {
  override async request(...order: Parameters<Http2SessionManager["request"]>) {
    const stream = await super.request(...order);
    if (stream.session !== undefined) outlive(stream.session as ClientHttp2Session);
    return stream;
  }
}

/** Its calls know of an error by themselves. */
function outlive(session: ClientHttp2Session): void {
  if (!session.listeners("error").includes(ignore)) session.on("error", ignore);
}

const ignore = () => undefined;
