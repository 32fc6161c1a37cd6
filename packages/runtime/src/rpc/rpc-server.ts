// The RPC port of a process: Connect and gRPC over cleartext HTTP/2, health and reflection included.
// Sessions are retired by age, so that new replicas get their share of long-lived connections.
import { constants, createServer, type Http2Server, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import type { HandlerContext, Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { listenError } from "../process/listen.ts";
import { pause } from "../process/pause.ts";
import { endStreams } from "./rpc-interceptors.ts";
import { MAX_MESSAGE_BYTES } from "./rpc-limits.ts";
import type { RpcService } from "./rpc-service.ts";

const SESSION_AGE_MS = 10 * 60_000;
const SESSION_JITTER_MS = 2 * 60_000;
/** GOAWAY's last stream: every arriving call is served. */
const LAST_STREAM = 2 ** 31 - 1;
/** Time in which a busy client learns that a session ends. */
const HEARING_MS = 250;

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
  /** Age at which a session is closed, 10 to 12 minutes by default. */
  sessionAgeMs?: () => number;
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
  const sessions = trackSessions(server, options.sessionAgeMs ?? aboutTenMinutes);
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
      await Promise.all([...sessions].map(sendAway));
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
 * Sends GOAWAY, then closes the session, so that the client uses another for further calls. After GOAWAY Node no longer
 * reads an idle session. A call in flight is refused when the session closes, and sent again. A later call would be
 * lost, so the client has time to learn of the end.
 */
async function sendAway(session: ServerHttp2Session): Promise<void> {
  if (session.destroyed) return;
  session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM);
  const closed = new AbortController();
  session.once("close", () => closed.abort());
  await pause(HEARING_MS, closed.signal);
  session.close();
}

const aboutTenMinutes = () => SESSION_AGE_MS + Math.random() * SESSION_JITTER_MS;

function trackSessions(server: Http2Server, ageMs: () => number): ReadonlySet<ServerHttp2Session> {
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    const retire = setTimeout(() => void sendAway(session), ageMs()).unref();
    session.once("close", () => {
      clearTimeout(retire);
      sessions.delete(session);
    });
  });
  return sessions;
}
