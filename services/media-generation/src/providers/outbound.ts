// The only way out: every request to another host goes through here. Answers are counted and cut, redirects are not
// followed, compression is not accepted, and only listed headers leave. Hosts come from config and may be private.
import { Agent, type Dispatcher, request } from "undici";

/** Nothing of a client's request can slip into an upstream's: adapters set these, by name. */
export type OutboundHeader =
  | "accept"
  | "authorization"
  | "content-type"
  | "x-client-request-id"
  | "x-request-id";

export interface OutboundRequest {
  readonly method: "GET" | "POST";
  readonly url: string;
  readonly headers: Readonly<Partial<Record<OutboundHeader, string>>>;
  readonly body?: string;
  /** Ends the request, whatever it waits for; a TimeoutError counts as a timeout. */
  readonly signal: AbortSignal;
}

export interface OutboundAnswer {
  readonly status: number;
  header(name: string): string | undefined;
  readonly bytes: Buffer;
  /** The body as JSON; undefined when it is none. */
  json(): unknown;
}

/**
 * - not_sent: no connection was made, so nobody has seen the request
 * - timeout: the signal's time was up, or the answer stalled
 * - lost: the connection broke, or we gave up, before the answer was complete
 * - unreadable: an answer came, but too large or encoded in a way we do not take
 */
export type OutboundFailure = "not_sent" | "timeout" | "lost" | "unreadable";

export class OutboundError extends Error {
  override readonly name = "OutboundError";
  readonly kind: OutboundFailure;

  constructor(kind: OutboundFailure, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

export interface Outbound {
  /** Any status resolves. @throws OutboundError */
  send(outgoing: OutboundRequest): Promise<OutboundAnswer>;
  close(): Promise<void>;
}

export interface OutboundOptions {
  readonly connectTimeoutMs?: number;
  /** Longest pause within an answer that has begun. */
  readonly stallTimeoutMs?: number;
  readonly maxAnswerBytes?: number;
}

const CONNECT_TIMEOUT_MS = 5_000;
const STALL_TIMEOUT_MS = 30_000;
/** Ten 4-megapixel PNGs in base64. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
/** Codes of errors that happen before a connection can carry anything. */
const NOT_SENT = new Set([
  "ECONNREFUSED",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT",
  "CERT_HAS_EXPIRED",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "ERR_TLS_CERT_ALTNAME_INVALID",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
]);
const TIMED_OUT = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

export function createOutbound(options: OutboundOptions = {}): Outbound {
  const maxAnswerBytes = options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  const agent = new Agent({
    connect: { timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS },
    // The time until an answer begins is limited by each request's own signal.
    headersTimeout: 0,
    bodyTimeout: options.stallTimeoutMs ?? STALL_TIMEOUT_MS,
    // A connection is used once: on a kept one, a paid request could be lost to a server that is just closing it,
    // and nobody could tell whether it was seen.
    pipelining: 0,
  });

  async function send(outgoing: OutboundRequest): Promise<OutboundAnswer> {
    const { method, url, headers, body, signal } = outgoing;
    try {
      const answer = await request(url, {
        dispatcher: agent,
        method,
        headers: { ...headers, "accept-encoding": "identity" },
        ...(body === undefined ? {} : { body }),
        signal,
      });
      const bytes = await readAnswer(answer, maxAnswerBytes);
      return {
        status: answer.statusCode,
        header: (name) => [answer.headers[name] ?? []].flat()[0],
        bytes,
        json: () => parseJson(bytes),
      };
    } catch (error) {
      throw explain(error, signal);
    }
  }

  return { send, close: () => agent.destroy() };
}

async function readAnswer(answer: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const encoding = answer.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    // Destroying emits its own error, which would end the process if nobody listened; ours is the one that counts.
    answer.body.on("error", () => undefined).destroy();
    throw new OutboundError("unreadable", "the answer is compressed although that was not accepted");
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    // Leaving the loop destroys the body, and with it the connection.
    if (size > maxBytes) {
      throw new OutboundError("unreadable", `the answer is larger than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

function explain(error: unknown, signal: AbortSignal): OutboundError {
  if (error instanceof OutboundError) return error;
  if (signal.aborted) {
    const timedOut = (signal.reason as Error | null)?.name === "TimeoutError";
    return timedOut
      ? new OutboundError("timeout", "no complete answer in time", error)
      : new OutboundError("lost", "given up before the answer was complete", error);
  }
  const code = (error as { code?: string } | null)?.code ?? "";
  if (NOT_SENT.has(code)) return new OutboundError("not_sent", `no connection was made (${code})`, error);
  if (TIMED_OUT.has(code)) return new OutboundError("timeout", "the answer stalled", error);
  return new OutboundError("lost", `the connection was lost (${code || "no code"})`, error);
}
