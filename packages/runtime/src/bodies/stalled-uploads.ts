// StalledUploads ends slow uploads: a client that sends a body slower than a minimum gets an error and is disconnected,
// since its bytes are held in memory until then. A body that waits because nobody here reads it is not stalled.
import type { FastifyRequest } from "fastify";

const LOOKS_PER_WINDOW = 10;

export interface UploadLimits {
  /** Time in which some bytes must arrive, and as many as the rate demands. */
  readonly stallMs: number;
  /** 0 = any. */
  readonly bytesPerSecond: number;
}

interface UploadWindow {
  /** Milliseconds that never run back. */
  readonly since: number;
  /** Bytes that the connection had received at the begin of the window. */
  readonly bytes: number;
}

export class StalledUploads {
  /** Undefined until the first look: most bodies are complete by then. */
  readonly #running = new Map<FastifyRequest, UploadWindow | undefined>();
  readonly #limits: UploadLimits;
  readonly #cut: (upload: FastifyRequest) => void;
  #timer: NodeJS.Timeout | undefined;
  #lookedAt = 0;

  constructor(limits: UploadLimits, cut: (upload: FastifyRequest) => void) {
    this.#limits = limits;
    this.#cut = cut;
  }

  begin(upload: FastifyRequest): void {
    this.#running.set(upload, undefined);
    this.#timer ??= setInterval(() => this.#look(), this.#pauseMs).unref();
  }

  /** Ends the watch: later bytes belong to no body. */
  end(upload: FastifyRequest): void {
    this.#running.delete(upload);
  }

  get #pauseMs(): number {
    return this.#limits.stallMs / LOOKS_PER_WINDOW;
  }

  #look(): void {
    const now = performance.now();
    // After a suspension of this process, the bytes of that time are not counted yet.
    const late = now - this.#lookedAt > 2 * this.#pauseMs;
    this.#lookedAt = now;
    for (const [upload, window] of this.#running) {
      const { complete, destroyed, readableFlowing, socket } = upload.raw;
      const bytes = socket.bytesRead;
      if (complete || destroyed) this.#running.delete(upload);
      else if (late || window === undefined || !readableFlowing || this.#isFast(window, bytes)) {
        this.#running.set(upload, { since: now, bytes });
      } else if (now - window.since >= this.#limits.stallMs) {
        this.#running.delete(upload);
        this.#cut(upload);
      }
    }
    if (this.#running.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Returns true if enough bytes arrived for a whole window. */
  #isFast({ bytes: before }: UploadWindow, bytes: number): boolean {
    const { stallMs, bytesPerSecond } = this.#limits;
    return bytes - before >= Math.max(1, (bytesPerSecond * stallMs) / 1_000);
  }
}
