// ClientStream writes a stream to its client. It pauses the upstream for a slow client and sends comments while the
// upstream is silent. A client that stops reading, or reads too slowly, counts as disconnected. Buffered data is
// limited to the bytes that arrived before the pause.
import type { ServerResponse } from "node:http";

export interface StreamSource {
  pause(): void;
  resume(): void;
}

export interface ClientStreamOptions {
  /** The source of the written data. */
  readonly source: StreamSource;
  /** Longest time without reading by the client while data waits, in milliseconds. */
  readonly stallMs: number;
  /** Longest total time of pauses by the client, in milliseconds. */
  readonly patienceMs: number;
  /** Pause between two comments before the first event, in milliseconds. */
  readonly keepAliveMs: number;
  /** Called if the client disconnects before the stream has ended. */
  readonly onGone: () => void;
}

/** Fraction of the longest pause after which most upstreams lose patience. */
const SUSPECT_STALL = 0.5;
const KEEP_ALIVE = Buffer.from(": keep-alive\n\n");

export class ClientStream {
  readonly #raw: ServerResponse;
  readonly #options: ClientStreamOptions;
  #source: StreamSource;
  #gone = false;
  #ended = false;
  #stall: NodeJS.Timeout | undefined;
  /** Start of the running pause, and the duration of the earlier pauses. */
  #heldSince = 0;
  #heldMs = 0;
  #keepAlive: NodeJS.Timeout | undefined;

  /** @param raw with its head written, and nothing else */
  constructor(raw: ServerResponse, options: ClientStreamOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#source = options.source;
    // A write to a disconnecting client fails. Its "close" event handles the disconnection.
    raw.on("error", ignore);
    raw.on("drain", this.#flow);
    raw.once("close", this.#close);
    if (raw.destroyed) this.#close();
    else {
      setImmediate(flushHead, raw);
      this.#keepAlive = setInterval(() => raw.write(KEEP_ALIVE), options.keepAliveMs);
    }
  }

  /** True after the client has disconnected: further writes are dropped. */
  get gone(): boolean {
    return this.#gone;
  }

  /** True if the client has paused the source so long that the pause may be the reason for the source's end. */
  get slow(): boolean {
    const now = this.#stall === undefined ? 0 : performance.now() - this.#heldSince;
    return this.#heldMs + now >= this.#options.stallMs * SUSPECT_STALL;
  }

  /** Called at the upstream's first bytes: from here on, only its own data are sent. */
  begin(): void {
    clearInterval(this.#keepAlive);
  }

  /** Replaces the source of the written data. */
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
  // Listener that prevents the throw of an unhandled error.
}

function flushHead(raw: ServerResponse): void {
  if (!raw.destroyed && !raw.writableEnded) raw.flushHeaders();
}

function cut(raw: ServerResponse): void {
  raw.destroy();
}
