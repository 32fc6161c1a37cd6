// Cuts answers that their clients do not read, because their bytes wait in memory: one rule for every answer of a port.
// A connection without waiting bytes is never cut, however long its answer is silent. One timer looks at all connections
// with a running request; a request costs nothing unless its answer is large.
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { type Connection, connectionOf, type OpenConnections } from "./open-connections.ts";

const LOOKS_PER_WINDOW = 10;
/** Longest time between two looks. */
const LONGEST_PAUSE_MS = 1_000;
/** Bytes of an answer in one piece that is counted when it is sent, not only at the next look. */
const LARGE_ANSWER = 16 * 1024;
/** Part of the budget that may be sent in large pieces between two looks. */
const UNSEEN_SHARE = 0.25;

export interface AnswerLimits {
  /** Time in which a client must receive some waiting bytes, and as many as the rate demands. */
  readonly stallMs: number;
  /** Least rate; 0 = any. */
  readonly bytesPerSecond: number;
  /** Waiting bytes of one connection. */
  readonly connectionBytes: number;
  /** Waiting bytes of all connections. */
  readonly processBytes: number;
  /** Reports each connection that is cut. */
  readonly cut?: (cause: CutCause) => void;
}

/** Reason for a cut: the client received too little, it had too many waiting bytes, or all together had. */
export type CutCause = "stalled" | "connection_bytes" | "process_bytes";

interface AnswerWindow {
  /** Milliseconds that never run back. */
  readonly since: number;
  /** Bytes that the kernel had accepted at the begin of the window. */
  readonly readBytes: number;
}

interface WaitingAnswer {
  readonly connection: Connection;
  readonly bytes: number;
  readonly since: number;
}

interface RunningConnections {
  readonly running: Iterable<Connection>;
}

export class UnreadAnswers {
  readonly #connections: RunningConnections;
  readonly #limits: AnswerLimits;
  readonly #windows = new WeakMap<Connection, AnswerWindow>();
  #lookedAt: number | undefined;
  #unseen = 0;

  constructor(connections: RunningConnections, limits: AnswerLimits) {
    this.#connections = connections;
    this.#limits = limits;
  }

  get pauseMs(): number {
    return Math.min(this.#limits.stallMs / LOOKS_PER_WINDOW, LONGEST_PAUSE_MS);
  }

  /** Counts a piece that is about to be sent. @returns true when a look is due */
  send(bytes: number): boolean {
    const before = this.#unseen;
    this.#unseen += bytes;
    const most = this.#limits.processBytes * UNSEEN_SHARE;
    return before < most && this.#unseen >= most;
  }

  /** @param now milliseconds that never run back. @returns the bytes that wait afterwards */
  look(now: number): number {
    // While this process was suspended, the kernel could not accept anything.
    const late = this.#lookedAt !== undefined && now - this.#lookedAt > 2 * this.pauseMs;
    this.#lookedAt = now;
    this.#unseen = 0;
    const waiting: WaitingAnswer[] = [];
    let total = 0;
    for (const connection of this.#connections.running) {
      const bytes = waitingBytes(connection);
      if (bytes === 0) this.#windows.delete(connection);
      else if (bytes > this.#limits.connectionBytes) this.#cut(connection, "connection_bytes");
      else {
        const since = this.#since(connection, now, late);
        if (now - since >= this.#limits.stallMs) this.#cut(connection, "stalled");
        else {
          waiting.push({ connection, bytes, since });
          total += bytes;
        }
      }
    }
    if (total <= this.#limits.processBytes) return total;
    const rank = ({ connection }: WaitingAnswer) => Number(connection.isKnown);
    // Strangers first, then the longest wait with the most bytes.
    waiting.sort((one, other) => rank(one) - rank(other) || weight(other, now) - weight(one, now));
    for (const { connection, bytes } of waiting) {
      if (total <= this.#limits.processBytes) break;
      this.#cut(connection, "process_bytes");
      total -= bytes;
    }
    return total;
  }

  /** Returns the begin of the window in which the client has not yet received enough. */
  #since(connection: Connection, now: number, late: boolean): number {
    const readBytes = bytesReadBy(connection.socket);
    const window = this.#windows.get(connection);
    const { stallMs, bytesPerSecond } = this.#limits;
    const enough = Math.max(1, (bytesPerSecond * stallMs) / 1_000);
    if (window !== undefined && !late && readBytes - window.readBytes < enough) return window.since;
    this.#windows.set(connection, { since: now, readBytes });
    return now;
  }

  #cut(connection: Connection, cause: CutCause): void {
    // The kernel drops its bytes, too.
    connection.socket.resetAndDestroy();
    this.#limits.cut?.(cause);
  }
}

function weight({ bytes, since }: WaitingAnswer, now: number): number {
  return bytes * (now - since + 1);
}

/** Returns the bytes of all answers of a connection that are in memory here and not yet in the kernel. */
function waitingBytes({ answers }: Connection): number {
  let bytes = 0;
  for (const { response, source } of answers) {
    bytes += response.writableLength;
    if (source !== undefined && !source.readableObjectMode) bytes += source.readableLength;
  }
  return bytes;
}

/** Returns the bytes that the kernel has accepted. Node counts a piece as written as soon as its first byte is. */
function bytesReadBy(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { _handle?: Handle | null };
  if (handle?.bytesWritten === undefined || handle.writeQueueSize === undefined) {
    return socket.bytesWritten - socket.writableLength;
  }
  return handle.bytesWritten - handle.writeQueueSize;
}

/** Part of Node's handle with the remaining bytes of the current piece. */
interface Handle {
  readonly bytesWritten?: number;
  readonly writeQueueSize?: number;
}

export function cutUnreadAnswers(
  app: FastifyInstance,
  connections: OpenConnections,
  limits: AnswerLimits,
): void {
  const unread = new UnreadAnswers(connections, limits);
  const look = () => void unread.look(performance.now());
  const timer = setInterval(look, unread.pauseMs).unref();
  app.addHook("onClose", async () => clearInterval(timer));
  app.addHook("onSend", (request, reply, payload, done) => {
    if (payload instanceof Readable) {
      // An absent answer has ended.
      const answer = connectionOf(request.raw)?.answers.find(({ response }) => response === reply.raw);
      if (answer !== undefined) answer.source = payload;
    } else if (lengthOf(payload) > LARGE_ANSWER && unread.send(lengthOf(payload))) setImmediate(look);
    done();
  });
}

/** Returns 0 for a payload without a length, such as no body. */
function lengthOf(payload: unknown): number {
  return typeof payload === "string" || Buffer.isBuffer(payload) ? payload.length : 0;
}
