// The client's side of a stream: holds the upstream back while the client is slow, says that it is alive while the
// upstream thinks, and takes a client that no longer reads, or not fast enough, for one that has left. Never buffers
// more than what the upstream had already handed over when it was held back.
import type { ServerResponse } from "node:http";

export const STREAM_TYPE = "text/event-stream; charset=utf-8";
export const STREAM_HEADERS = {
  "content-type": STREAM_TYPE,
  "cache-control": "no-cache, no-transform",
  // Proxies that buffer answers would keep the events from their reader.
  "x-accel-buffering": "no",
} as const;

export interface StreamSource {
  pause(): void;
  resume(): void;
}

export interface ClientStreamOptions {
  /** The source of what is written. */
  readonly source: StreamSource;
  /** How long a client may leave waiting data untouched. */
  readonly stallMs: number;
  /** How long a client may hold the source back in all. */
  readonly patienceMs: number;
  /** Pause between two comments before the first event. */
  readonly keepAliveMs: number;
  /** The client left before the stream had ended. */
  readonly onGone: () => void;
}

/** A part of the longest stall that few upstreams have the patience for. */
const SUSPECT_STALL = 0.5;
const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

export class ClientStream {
  readonly #raw: ServerResponse;
  readonly #options: ClientStreamOptions;
  #source: StreamSource;
  #gone = false;
  #ended = false;
  #stall: NodeJS.Timeout | undefined;
  /** When the client began to hold the source back, and how long it had done so before. */
  #heldSince = 0;
  #heldMs = 0;
  #keepAlive: NodeJS.Timeout | undefined;

  /** @param raw its head is written; nothing else is. */
  constructor(raw: ServerResponse, options: ClientStreamOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#source = options.source;
    // A write that crosses the client's leaving fails; its "close" tells the rest.
    raw.on("error", ignore);
    raw.on("drain", this.#flow);
    raw.once("close", this.#close);
    if (raw.destroyed) this.#close();
    else {
      setImmediate(flushHead, raw);
      this.#keepAlive = setInterval(() => raw.write(KEEP_ALIVE), options.keepAliveMs);
    }
  }

  /** The client has left: what is written goes nowhere. */
  get gone(): boolean {
    return this.#gone;
  }

  /** It has held the source back for so long that it may be the reason why the source breaks off. */
  get slow(): boolean {
    const now = this.#stall === undefined ? 0 : performance.now() - this.#heldSince;
    return this.#heldMs + now >= this.#options.stallMs * SUSPECT_STALL;
  }

  /** The upstream's first bytes are there: from now on only its own words are passed on. */
  begin(): void {
    clearInterval(this.#keepAlive);
  }

  /** What is written comes from another source from now on. */
  follow(source: StreamSource): void {
    this.#source = source;
    if (this.#stall !== undefined) source.pause();
  }

  write(bytes: Buffer): void {
    if (this.#gone || this.#raw.destroyed || bytes.length === 0) return;
    if (this.#raw.write(bytes) || this.#stall !== undefined) return;
    const { stallMs, patienceMs } = this.#options;
    this.#source.pause();
    this.#heldSince = performance.now();
    this.#stall = setTimeout(cut, Math.min(stallMs, patienceMs - this.#heldMs), this.#raw);
  }

  end(bytes?: Buffer): void {
    clearInterval(this.#keepAlive);
    if (this.#gone || this.#ended) return;
    this.#ended = true;
    if (bytes === undefined) this.#raw.end();
    else this.#raw.end(bytes);
    if (this.#raw.writableLength > 0) this.#stall ??= setTimeout(cut, this.#options.stallMs, this.#raw);
  }

  readonly #flow = (): void => {
    this.#letGo();
    this.#source.resume();
  };

  readonly #close = (): void => {
    clearInterval(this.#keepAlive);
    this.#letGo();
    if (this.#gone) return;
    this.#gone = true;
    if (!this.#ended) this.#options.onGone();
    this.#source.resume();
  };

  #letGo(): void {
    if (this.#stall === undefined) return;
    this.#heldMs += performance.now() - this.#heldSince;
    clearTimeout(this.#stall);
    this.#stall = undefined;
  }
}

function ignore(): void {
  // Listened to only so that it is not thrown.
}

function flushHead(raw: ServerResponse): void {
  if (!raw.destroyed && !raw.writableEnded) raw.flushHeaders();
}

function cut(raw: ServerResponse): void {
  raw.destroy();
}
