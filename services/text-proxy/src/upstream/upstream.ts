// Upstream is one text upstream: a pool of kept-alive connections, with our own headers on every request.
// Of a client's request, only the body is sent to it.
import type { LookUpResult } from "@gr/paid-request";
import { currentSpan, outwardTraceHeaders, serverOf } from "@gr/runtime";
import type { Continues, TextUpstream, UpstreamKind } from "@gr/text-upstream";
import { type Dispatcher, Pool } from "undici";
import type { TextApi } from "../request/text-request.ts";
import type { BreakerCondition, CircuitBreaker } from "./circuit-breaker.ts";
import { type Generation, readGeneration } from "./generation.ts";
import { type AnswerReceiver, UpstreamCall } from "./upstream-call.ts";

export interface UpstreamTimers {
  /** Time limit to connect, in milliseconds. */
  readonly connectMs: number;
  /** Time limit from the last byte of the request to the head of the answer, in milliseconds. */
  readonly headersMs: number;
  /** Time limit between two bytes of an answer, in milliseconds. */
  readonly idleMs: number;
  /** Time limit from sending to the last byte of the answer, in milliseconds. */
  readonly totalMs: number;
}

export interface Sending {
  readonly api: TextApi;
  readonly stream: boolean;
  readonly body: Buffer;
  /** Value of x-request-id at the upstream. */
  readonly id: string;
  /** Aborts the wait for the answer. */
  readonly signal: AbortSignal;
}

const PATHS = { chat: "/chat/completions", responses: "/responses" } as const;
const SMALL_ANSWER_BYTES = 1024 * 1024;
const LOOK_UP_TIMEOUT_MS = 10_000;

export class Upstream {
  readonly name: string;
  readonly kind: UpstreamKind;
  /** False: the upstream sends us no bill. */
  readonly billed: boolean;
  readonly passUnknownFields: boolean | undefined;
  /** Method to continue the beginning of an answer; undefined if the upstream has none. */
  readonly continues: Continues | undefined;
  readonly #apiKey: string | undefined;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #headers: readonly string[];
  readonly #timers: UpstreamTimers;
  /** Attributes for spans. */
  readonly #place: Readonly<Record<string, string | number>>;
  /** Breakers by the model's name at the upstream; as many as routes name. */
  readonly #breakers = new Map<string, CircuitBreaker>();
  readonly #newBreaker: (model: string) => CircuitBreaker;

  /** @param usual timers for an upstream without its own settings */
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
    // One connection per running request. Running requests are limited, so no request ever queues here.
    this.#pool = new Pool(url.origin, {
      pipelining: 1,
      // One request per connection, so that a slow reader delays only its own.
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

  /** @param model its name at the upstream */
  breaker(model: string): CircuitBreaker {
    let breaker = this.#breakers.get(model);
    if (breaker === undefined) {
      breaker = this.#newBreaker(model);
      this.#breakers.set(model, breaker);
    }
    return breaker;
  }

  /** Conditions of the models' routes that are not usual. */
  get conditions(): readonly (BreakerCondition & { readonly upstreamModel: string })[] {
    return [...this.#breakers].flatMap(([upstreamModel, { condition }]) =>
      condition === undefined ? [] : [{ upstreamModel, ...condition }],
    );
  }

  /** Number of models for which the breaker is open. */
  get openBreakers(): number {
    let open = 0;
    for (const { isOpen } of this.#breakers.values()) if (isOpen) open += 1;
    return open;
  }

  /** Sends a request once; the receiver is called with its answer. */
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

  /** Queries a generation after its answer or usage was lost. Never rejects. */
  async lookUp(id: string): Promise<LookUpResult<Generation>> {
    const { generations } = this.kind;
    if (generations === undefined) return "silent";
    try {
      const { status, body } = await this.#get(generations.path(id));
      if (status === 404) return "unknown";
      return (status === 200 ? readGeneration(generations, body) : undefined) ?? "silent";
    } catch {
      // After any failure of the query, the function's user repeats it or postpones the hold to a later round.
      return "silent";
    }
  }

  /** Reads a small document below the base URL. @throws if it is not available within ten seconds */
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

  /** Removes all text that may be a credential, ours or another. */
  redact(text: string): string {
    const own = this.#apiKey === undefined ? text : text.replaceAll(this.#apiKey, "[redacted]");
    return own.replace(SECRET, "[redacted]");
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

/** Bearer tokens, and keys in the form of OpenAI, compatible services and ours, also with a starred-out middle. */
const SECRET = /\b(?:bearer\s+\S+|(?:sk|pk|rk|key|gr)[-_][\w*.-]{12,})/gi;
