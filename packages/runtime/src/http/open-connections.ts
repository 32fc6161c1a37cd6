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
  /** Reports a closed connection: a new one without a place, or an idle one that made room for a new one. */
  readonly closed: (which: "refused" | "idle") => void;
}

/** A running answer, and the stream that it is read from. */
export interface RunningAnswer {
  readonly response: ServerResponse;
  source: Readable | undefined;
}

export class Connection {
  readonly socket: Socket;
  /** Undefined: not counted by owner. */
  readonly owner: string | undefined;
  readonly answers: RunningAnswer[] = [];
  /** True after a request with a valid key over this connection. */
  isKnown = false;
  /** Rank of the moment since which no request runs; 0 while one runs. */
  idleRank = 0;
  readonly port: OpenConnections | undefined;
  /** The list that the connection is in, and its neighbours there. */
  list: ConnectionList | undefined;
  earlier: Connection | undefined;
  later: Connection | undefined;

  constructor(socket: Socket, owner: string | undefined, port?: OpenConnections) {
    this.socket = socket;
    this.owner = owner;
    this.port = port;
  }

  /** Announces and keeps the short idle time. */
  get isBrief(): boolean {
    return !this.isKnown && this.owner !== undefined;
  }
}

/** A member of the socket: it costs less than an entry of a WeakMap, which each request would read several times. */
const CONNECTION = Symbol("connection");

interface CountedSocket extends Socket {
  [CONNECTION]?: Connection;
}

/** Returns the counted connection of a request. @returns undefined on ports without limits */
export function connectionOf({ socket }: IncomingMessage): Connection | undefined {
  return (socket as CountedSocket)[CONNECTION];
}

/**
 * Connections in the order of their arrival in the list. Each request moves its connection from one list to another, so
 * the links are members of the connections: a move allocates nothing.
 */
class ConnectionList implements Iterable<Connection> {
  #size = 0;
  #first: Connection | undefined;
  #last: Connection | undefined;

  get size(): number {
    return this.#size;
  }

  get first(): Connection | undefined {
    return this.#first;
  }

  /** Adds a connection at the end, and removes it from its list before. */
  append(connection: Connection): void {
    connection.list?.remove(connection);
    connection.list = this;
    connection.earlier = this.#last;
    if (this.#last === undefined) this.#first = connection;
    else this.#last.later = connection;
    this.#last = connection;
    this.#size += 1;
  }

  remove(connection: Connection): void {
    if (connection.list !== this) return;
    const { earlier, later } = connection;
    if (earlier === undefined) this.#first = later;
    else earlier.later = later;
    if (later === undefined) this.#last = earlier;
    else later.earlier = earlier;
    connection.list = connection.earlier = connection.later = undefined;
    this.#size -= 1;
  }

  /** The current connection may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Connection> {
    for (let at = this.#first; at !== undefined; ) {
      const { later } = at;
      yield at;
      at = later;
    }
  }
}

export class OpenConnections {
  /** Connections with a running request. */
  readonly running = new ConnectionList();
  /** Idle longest first. */
  readonly #strangers = new ConnectionList();
  /** Idle longest first. */
  readonly #known = new ConnectionList();
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
      (this.size < most || this.#close(this.#strangers.first ?? this.#known.first));
    if (!hasPlace) {
      closed("refused");
      socket.destroy();
      return;
    }
    const connection = new Connection(socket, owner, this);
    (socket as CountedSocket)[CONNECTION] = connection;
    if (owner !== undefined) {
      const owned = this.#owned.get(owner);
      if (owned === undefined) this.#owned.set(owner, new Set([connection]));
      else owned.add(connection);
    }
    this.#startIdle(connection);
    socket.once("close", () => this.#forget(connection));
  }

  #begin(request: IncomingMessage, response: ServerResponse): void {
    const connection = connectionOf(request);
    if (connection === undefined) return;
    connection.idleRank = 0;
    connection.answers.push({ response, source: undefined });
    if (connection.list !== this.running) this.running.append(connection);
    response.on("close", endAnswer);
  }

  /** Ends an answer of a connection. */
  end(connection: Connection, response: ServerResponse): void {
    const { answers, socket } = connection;
    const index = answers.findIndex((each) => each.response === response);
    if (index >= 0) answers.splice(index, 1);
    if (answers.length > 0 || connection.list !== this.running) return;
    this.running.remove(connection);
    if (socket.destroyed) return;
    this.#startIdle(connection);
    // Node has just set the long time.
    if (connection.isBrief) socket.setTimeout(STRANGER_IDLE_MS + ANNOUNCED_EARLIER_MS);
  }

  #startIdle(connection: Connection): void {
    this.#ranks += 1;
    connection.idleRank = this.#ranks;
    (connection.isKnown ? this.#known : this.#strangers).append(connection);
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
    connection.list?.remove(connection);
    if (connection.owner === undefined) return;
    const owned = this.#owned.get(connection.owner);
    owned?.delete(connection);
    if (owned?.size === 0) this.#owned.delete(connection.owner);
  }
}

/** Listener of every answer of a counted port; shared, so that a request allocates none. */
function endAnswer(this: ServerResponse): void {
  const connection = connectionOf(this.req);
  connection?.port?.end(connection, this);
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
