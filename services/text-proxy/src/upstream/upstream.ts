// One text upstream: a pool of kept-alive connections, and our own headers on every request; nothing that a
// client sends reaches it but the body.
import type { LookUpResult } from "@gr/paid-request";
import { currentSpan, outwardTraceHeaders, serverOf } from "@gr/runtime";
import type { Continues, TextUpstream, UpstreamKind } from "@gr/text-upstream";
import { type Dispatcher, Pool } from "undici";
import type { TextApi } from "../request/text-request.ts";
import type { CircuitBreaker } from "./circuit-breaker.ts";
import { type Generation, readGeneration } from "./generation.ts";
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

export interface Sending {
  readonly api: TextApi;
  readonly stream: boolean;
  readonly body: Buffer;
  /** What the upstream gets as x-request-id. */
  readonly id: string;
  /** Gives up on the answer. */
  readonly signal: AbortSignal;
}

const PATHS = { chat: "/chat/completions", responses: "/responses" } as const;
const SMALL_ANSWER_BYTES = 1024 * 1024;
const LOOK_UP_TIMEOUT_MS = 10_000;

export class Upstream {
  readonly name: string;
  readonly kind: UpstreamKind;
  /** False: nobody bills us for what it does. */
  readonly billed: boolean;
  readonly passUnknownFields: boolean | undefined;
  /** How it goes on with an answer whose beginning it is given; undefined when it cannot. */
  readonly continues: Continues | undefined;
  readonly #apiKey: string | undefined;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #headers: readonly string[];
  readonly #timers: UpstreamTimers;
  /** For spans. */
  readonly #place: Readonly<Record<string, string | number>>;
  /** By the model's name there; as many as routes name. */
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #newBreaker: (model: string) => CircuitBreaker;

  /** @param usual how long to wait where the upstream's own settings do not say */
  constructor(upstream: TextUpstream, usual: UpstreamTimers, newBreaker: (model: string) => CircuitBreaker) {
    const { connectMs, firstByteMs, idleMs } = upstream.timers;
    const timers = {
      connectMs: connectMs ?? usual.connectMs,
      headersMs: firstByteMs ?? usual.headersMs,
      idleMs: idleMs ?? usual.idleMs,
      totalMs: usual.totalMs,
    };
    const url = new URL(upstream.baseUrl);
    this.name = upstream.name;
    this.kind = upstream.kind;
    this.billed = upstream.billed;
    this.passUnknownFields = upstream.passUnknownFields;
    this.continues = upstream.continues;
    this.#newBreaker = newBreaker;
    this.#apiKey = upstream.apiKey;
    this.#basePath = url.pathname === "/" ? "" : url.pathname;
    this.#timers = timers;
    this.#place = serverOf(url);
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

  /** @param model as it is called there */
  breaker(model: string): CircuitBreaker {
    let breaker = this.#breakers.get(model);
    if (breaker === undefined) {
      breaker = this.#newBreaker(model);
      this.#breakers.set(model, breaker);
    }
    return breaker;
  }

  /** Number of models for which the breaker is open. */
  get openBreakers(): number {
    let open = 0;
    for (const { isOpen } of this.#breakers.values()) if (isOpen) open += 1;
    return open;
  }

  /** Sends a request once; the receiver gets its answer. */
  post({ api, stream, body, id, signal }: Sending, receiver: AnswerReceiver): void {
    const call = new UpstreamCall(receiver, this.#timers.totalMs, signal);
    const headers = [
      ...this.#headers,
      "content-type",
      "application/json",
      "accept",
      stream ? "text/event-stream" : "application/json",
      "x-request-id",
      id,
    ];
    const span = currentSpan();
    if (span !== undefined) {
      headers.push(...Object.entries(outwardTraceHeaders()).flat());
      span.setAttributes(this.#place);
    }
    this.#pool.dispatch({ method: "POST", path: this.#basePath + PATHS[api], headers, body }, call);
  }

  /** Asks what became of a generation whose answer or usage never arrived. Never rejects. */
  async lookUp(id: string): Promise<LookUpResult<Generation>> {
    const { generations } = this.kind;
    if (generations === undefined) return "silent";
    try {
      const { status, body } = await this.#get(generations.path(id));
      if (status === 404) return "unknown";
      return (status === 200 ? readGeneration(generations, body) : undefined) ?? "silent";
    } catch {
      // Whatever kept the answer away, the caller asks again or leaves the hold to a later round.
      return "silent";
    }
  }

  /** Reads a small document below the base URL. @throws when it cannot be had within ten seconds */
  async #get(path: string): Promise<{ readonly status: number; readonly body: Buffer }> {
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

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** Bearer tokens, and keys as OpenAI, its like and we make them, also when the middle is starred out. */
const SECRET = /\b(?:bearer\s+\S+|(?:sk|pk|rk|key|gr)[-_][\w*.-]{12,})/gi;
