// The text upstream: one pool of kept-alive connections, and our own headers on every request; nothing that a
// client sends reaches it but the body.
import type { TextUpstream, TextUpstreamKind } from "@gr/text-upstream";
import { type Dispatcher, Pool } from "undici";
import type { TextApi } from "./text-request.ts";
import { type AnswerReceiver, UpstreamCall } from "./upstream-call.ts";

export interface UpstreamTimers {
  /** To a connection. */
  readonly connectMs: number;
  /** From the last byte of the request to the head of the answer. */
  readonly headersMs: number;
  /** Between two bytes of an answer. */
  readonly idleMs: number;
  /** From sending to the last byte of the answer. */
  readonly totalMs: number;
}

export interface SmallAnswer {
  readonly status: number;
  readonly body: Buffer;
}

const PATHS = { chat: "/chat/completions", responses: "/responses" } as const;
const SMALL_ANSWER_BYTES = 1024 * 1024;
const LOOK_UP_TIMEOUT_MS = 10_000;

export class Upstream {
  readonly name: string;
  readonly kind: TextUpstreamKind;
  readonly #apiKey: string | undefined;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #headers: readonly string[];
  readonly #timers: UpstreamTimers;
  readonly #calls = new Set<UpstreamCall>();
  readonly #forget = (call: UpstreamCall) => void this.#calls.delete(call);

  constructor(upstream: TextUpstream, timers: UpstreamTimers) {
    const url = new URL(upstream.baseUrl);
    this.name = upstream.name;
    this.kind = upstream.kind;
    this.#apiKey = upstream.apiKey;
    this.#basePath = url.pathname === "/" ? "" : url.pathname;
    this.#timers = timers;
    // As many connections as there are running requests, which are limited: nothing ever queues here.
    this.#pool = new Pool(url.origin, {
      pipelining: 1,
      // One request a connection, so that a slow reader holds back only its own.
      allowH2: false,
      headersTimeout: timers.headersMs,
      bodyTimeout: timers.idleMs,
      connect: { timeout: timers.connectMs },
    });
    this.#headers = [
      ...(upstream.apiKey === undefined ? [] : ["authorization", `Bearer ${upstream.apiKey}`]),
      "accept-encoding",
      "identity",
    ];
  }

  /** Sends a request once; the receiver gets its answer. */
  post(
    api: TextApi,
    stream: boolean,
    body: Buffer,
    requestId: string,
    receiver: AnswerReceiver,
  ): UpstreamCall {
    const call = new UpstreamCall(receiver, this.#timers.totalMs, this.#forget);
    this.#calls.add(call);
    const headers = [
      ...this.#headers,
      "content-type",
      "application/json",
      "accept",
      stream ? "text/event-stream" : "application/json",
      "x-request-id",
      requestId,
    ];
    this.#pool.dispatch({ method: "POST", path: this.#basePath + PATHS[api], headers, body }, call);
    return call;
  }

  /** Reads a small document below the base URL. @throws when it cannot be had within ten seconds */
  async get(path: string): Promise<SmallAnswer> {
    const signal = AbortSignal.timeout(LOOK_UP_TIMEOUT_MS);
    const options: Dispatcher.RequestOptions = {
      method: "GET",
      path: this.#basePath + path,
      headers: [...this.#headers, "accept", "application/json"],
      signal,
    };
    const { statusCode, body } = await this.#pool.request(options);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body) {
      size += (chunk as Buffer).length;
      if (size > SMALL_ANSWER_BYTES) throw new Error("the document is larger than 1 MB");
      chunks.push(chunk as Buffer);
    }
    return { status: statusCode, body: Buffer.concat(chunks) };
  }

  /** Takes whatever could be a credential of ours or anyone's out of a text. */
  redact(text: string): string {
    const own = this.#apiKey === undefined ? text : text.replaceAll(this.#apiKey, "[redacted]");
    return own.replace(SECRET, "[redacted]");
  }

  /** Gives up on every running call. */
  abortAll(reason: Error): void {
    for (const call of [...this.#calls]) call.abort(reason);
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** Bearer tokens, and keys as OpenAI, its like and we make them, also when the middle is starred out. */
const SECRET = /\b(?:bearer\s+\S+|(?:sk|pk|rk|key|gr)[-_][\w*.-]{12,})/gi;
