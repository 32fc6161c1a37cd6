// The RPC port of a process: Connect and gRPC over cleartext HTTP/2, health and reflection included.
// Sessions are retired by age, so that new replicas get their share of long-lived connections.
import { constants, createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { HandlerContext, Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { listenError } from "./listen.ts";
import type { RpcService } from "./module.ts";
import { pause } from "./pause.ts";
import { endStreams } from "./rpc-interceptors.ts";
import { MAX_MESSAGE_BYTES } from "./rpc-limits.ts";

const SESSION_AGE_MS = 10 * 60_000;
const SESSION_JITTER_MS = 2 * 60_000;
/** Of a session: all that may come is served. */
const LAST_STREAM = 2 ** 31 - 1;
/** A client leaves within a round trip, or when its last call is answered. */
const LEAVING_MS = 1_000;
const LOOK_EVERY_MS = 10;

export interface RpcServer {
  readonly port: number;
  /** Refuses new sessions, ends streams, lets running calls finish for at most `graceMs`, then cuts. */
  close(graceMs: number): Promise<void>;
}

export async function startRpcServer(options: {
  host: string;
  port: number;
  services: readonly RpcService[];
  interceptors: readonly Interceptor[];
  /** Throws to refuse a call before its body is read. */
  gate: (context: HandlerContext) => void;
}): Promise<RpcServer> {
  const stopping = new AbortController();
  const handler = connectNodeAdapter({
    routes: (router) => {
      for (const { desc, impl } of options.services) router.service(desc, impl);
    },
    interceptors: [...options.interceptors, endStreams(stopping.signal)],
    requestGate: options.gate,
    readMaxBytes: MAX_MESSAGE_BYTES,
    writeMaxBytes: MAX_MESSAGE_BYTES,
  });
  const server = createServer({}, handler);
  const sessions = trackSessions(server);
  await new Promise<void>((resolve, reject) => {
    const settings = { host: "SERVICE_HOST", port: "SERVICE_RPC_PORT" };
    server.once("error", (error) => reject(listenError(error, settings, options)));
    server.listen(options.port, options.host, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async (graceMs) => {
      stopping.abort();
      // Node closes the sessions of a server that it closes.
      await sendAway(sessions);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      const cut = setTimeout(() => {
        for (const session of sessions) session.destroy();
      }, graceMs);
      await closed;
      clearTimeout(cut);
    },
  };
}

/**
 * Tells clients to go elsewhere with further calls, and waits until they have. What they sent before they heard of it is
 * served; a session that is closed at once refuses that.
 */
async function sendAway(sessions: ReadonlySet<ServerHttp2Session>): Promise<void> {
  for (const session of sessions) session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM);
  const over = AbortSignal.timeout(LEAVING_MS);
  while (sessions.size > 0 && !over.aborted) await pause(LOOK_EVERY_MS, over);
}

function trackSessions(server: Http2Server): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    const age = SESSION_AGE_MS + Math.random() * SESSION_JITTER_MS;
    const retire = setTimeout(() => session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM), age).unref();
    session.once("close", () => {
      clearTimeout(retire);
      sessions.delete(session);
    });
  });
  return sessions;
}
