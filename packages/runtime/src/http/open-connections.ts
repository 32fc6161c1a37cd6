// OpenConnections counts the connections of a public port, and closes the one that is idle longest if there are too
// many. A connection is idle while none of its requests runs. A connection that showed a valid key is closed after
// those that did not, so that a crowd without keys never replaces a customer's connection.
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { ServiceError } from "@gr/proto";

/** Idle time of a connection that never showed a valid key. */
const STRANGER_IDLE_MS = 5_000;
/** Part of a port's places that running requests without a valid key may have. */
const STRANGERS_SHARE = 3 / 4;
/** Time by which Node's actual wait exceeds the announced one. */
const ANNOUNCED_EARLIER_MS = 1_000;
const RETRY_AFTER_MS = 2_000;

export interface ConnectionLimits {
  /** Maximum number of connections of the port. */
  readonly most: number;
  /** Maximum number of connections of one owner. */
  readonly mostOfOwner: number;
  /**
   * Network of a remote address. Undefined: the connections are not counted by owner, and keep the long idle time, since a
   * proxy with many clients may have that address.
   */
  readonly ownerOf: (address: string) => string | undefined;
  /** Reports a connection that was closed: a new one without a place, or an idle one for the sake of a new one. */
  readonly closed: (which: "refused" | "idle") => void;
}

export class Connection {
  readonly socket: Socket;
  /** Undefined: not counted by owner. */
  readonly owner: string | undefined;
  /** Running answers, each with its source stream. */
  readonly answers = new Map<ServerResponse, Readable | undefined>();
  /** True after a request with a valid key over this connection. */
  isKnown = false;
  /** Rank of the moment since which no request runs; 0 while one runs. */
  idleRank = 0;
  readonly port: Pick<OpenConnections, "hasTooManyStrangers"> | undefined;

  constructor(socket: Socket, owner: string | undefined, port?: Connection["port"]) {
    this.socket = socket;
    this.owner = owner;
    this.port = port;
  }

  /** Announces and keeps the short idle time. */
  get isBrief(): boolean {
    return !this.isKnown && this.owner !== undefined;
  }
}

const connections = new WeakMap<Socket, Connection>();

/** Returns the counted connection of a request. @returns undefined on ports without limits */
export function connectionOf({ socket }: IncomingMessage): Connection | undefined {
  return connections.get(socket);
}

export class OpenConnections {
  /** Connections with a running request. */
  readonly running = new Set<Connection>();
  /** Idle longest first. */
  readonly #strangers = new Set<Connection>();
  /** Idle longest first. */
  readonly #known = new Set<Connection>();
  readonly #owned = new Map<string, Set<Connection>>();
  readonly #limits: ConnectionLimits;
  #ranks = 0;

  constructor(server: Server, limits: ConnectionLimits) {
    this.#limits = limits;
    server.prependListener("connection", (socket: Socket) => this.#admit(socket));
    server.prependListener("request", (request, response) => this.#begin(request, response));
  }

  get size(): number {
    return this.running.size + this.#strangers.size + this.#known.size;
  }

  /** True if running connections without a valid key exceed their share. */
  get hasTooManyStrangers(): boolean {
    const most = Math.ceil(this.#limits.most * STRANGERS_SHARE);
    if (this.running.size <= most) return false;
    let strangers = 0;
    for (const { isKnown } of this.running) if (!isKnown) strangers += 1;
    return strangers > most;
  }

  #admit(socket: Socket): void {
    const { most, mostOfOwner, ownerOf, closed } = this.#limits;
    const owner = ownerOf(socket.remoteAddress ?? "");
    const siblings = owner === undefined ? undefined : this.#owned.get(owner);
    const hasPlace =
      (siblings === undefined || siblings.size < mostOfOwner || this.#close(longestIdle(siblings))) &&
      (this.size < most || this.#close(first(this.#strangers) ?? first(this.#known)));
    if (!hasPlace) {
      closed("refused");
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, owner, this);
    connections.set(socket, connection);
    if (owner !== undefined) {
      const owned = this.#owned.get(owner);
      if (owned === undefined) this.#owned.set(owner, new Set([connection]));
      else owned.add(connection);
    }
    this.#startIdle(connection);
    socket.once("close", () => this.#forget(connection));
  }

  #begin({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = connections.get(socket);
    if (connection === undefined) return;
    this.#strangers.delete(connection);
    this.#known.delete(connection);
    connection.idleRank = 0;
    connection.answers.set(response, undefined);
    this.running.add(connection);
    response.once("close", () => {
      connection.answers.delete(response);
      if (connection.answers.size > 0 || !this.running.delete(connection) || socket.destroyed) return;
      this.#startIdle(connection);
      // Node has just set the long time.
      if (connection.isBrief) socket.setTimeout(STRANGER_IDLE_MS + ANNOUNCED_EARLIER_MS);
    });
  }

  #startIdle(connection: Connection): void {
    this.#ranks += 1;
    connection.idleRank = this.#ranks;
    (connection.isKnown ? this.#known : this.#strangers).add(connection);
  }

  /** @returns false if there is none */
  #close(connection: Connection | undefined): boolean {
    if (connection === undefined) return false;
    this.#forget(connection);
    connection.socket.destroy();
    this.#limits.closed("idle");
    return true;
  }

  #forget(connection: Connection): void {
    this.running.delete(connection);
    this.#strangers.delete(connection);
    this.#known.delete(connection);
    if (connection.owner === undefined) return;
    const owned = this.#owned.get(connection.owner);
    owned?.delete(connection);
    if (owned?.size === 0) this.#owned.delete(connection.owner);
  }
}

function first(idle: ReadonlySet<Connection>): Connection | undefined {
  return idle.values().next().value;
}

/** Strangers first. */
function longestIdle(owned: ReadonlySet<Connection>): Connection | undefined {
  let found: Connection | undefined;
  for (const one of owned) {
    if (one.idleRank === 0) continue;
    const isBefore =
      found === undefined || (one.isKnown === found.isKnown ? one.idleRank < found.idleRank : found.isKnown);
    if (isBefore) found = one;
  }
  return found;
}

/** Header methods of a reply, for every server type. */
interface HeaderReply {
  header(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
}

/** Announces the short idle time on connections that have it. To be called before anything is answered. */
export function announceIdleTime(request: IncomingMessage, reply: HeaderReply): void {
  if (connectionOf(request)?.isBrief) reply.header("keep-alive", `timeout=${STRANGER_IDLE_MS / 1_000}`);
}

/**
 * Refuses a request without a valid key if too many of them run: their connections are not idle, so only new ones,
 * those of customers among them, would be closed instead.
 * @throws ServiceError service_unavailable
 */
export function admitStranger({ raw }: { readonly raw: IncomingMessage }): void {
  const connection = connectionOf(raw);
  if (connection === undefined || connection.isKnown || connection.port?.hasTooManyStrangers !== true) return;
  const message = "Too many requests without a valid API key are running. Retry shortly.";
  throw new ServiceError("service_unavailable", message, { retryAfterMs: RETRY_AFTER_MS });
}

/** Marks the connection of a request with a valid key. */
export function trustConnection({ raw }: { readonly raw: IncomingMessage }, reply: HeaderReply): void {
  const connection = connectionOf(raw);
  if (connection === undefined || connection.isKnown) return;
  // A request runs, so the connection is in neither set of idle ones.
  connection.isKnown = true;
  reply.removeHeader("keep-alive");
}
