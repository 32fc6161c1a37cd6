// PeerSessions are HTTP/2 sessions to another process, by the library's manager, and one repair of it. After a GOAWAY on an
// idle session the manager destroys it with an error, which Node emits when the socket has closed. After a call in
// between, the manager forgets the session, and the unhandled error ends the process.
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

/** Stops a session error from ending the process. Calls report their own errors. */
function outlive(session: ClientHttp2Session): void {
  if (!session.listeners("error").includes(ignore)) session.on("error", ignore);
}

const ignore = () => undefined;
