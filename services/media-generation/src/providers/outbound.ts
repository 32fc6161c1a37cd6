// The only way out: every request to another host goes through here. Answers are counted and cut, redirects are not
// followed, compression is not accepted, and only listed headers leave. Hosts come from config and may be private.
import { Agent, buildConnector, type Dispatcher, request } from "undici";

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
const TIMED_OUT = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

export function createOutbound(options: OutboundOptions = {}): Outbound {
  const maxAnswerBytes = options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  const timeout = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
  const connect = buildConnector({ timeout, allowH2: false });
  /** Of connections that were not made, whatever was in their way: nobody has seen what they were for. */
  const notConnected = new WeakSet<Error>();
  const agent = new Agent({
    connect: (target, callback) =>
      connect(target, (...result) => {
        if (result[0] !== null) notConnected.add(result[0]);
        callback(...result);
      }),
    // The time until an answer begins is limited by each request's own signal.
    headersTimeout: 0,
    bodyTimeout: options.stallTimeoutMs ?? STALL_TIMEOUT_MS,
    // A connection is used once: on a kept one, a paid request could be lost to a server that is just closing it,
    // and nobody could tell whether it was seen.
    pipelining: 0,
    allowH2: false,
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
      throw explain(error, signal, error instanceof Error && notConnected.has(error));
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

function explain(error: unknown, signal: AbortSignal, unsent: boolean): OutboundError {
  if (error instanceof OutboundError) return error;
  if (signal.aborted) {
    const timedOut = (signal.reason as Error | null)?.name === "TimeoutError";
    return timedOut
      ? new OutboundError("timeout", "no complete answer in time", error)
      : new OutboundError("lost", "given up before the answer was complete", error);
  }
  const code = (error as { code?: string } | null)?.code ?? "";
  if (unsent) return new OutboundError("not_sent", `no connection was made (${code})`, error);
  if (TIMED_OUT.has(code)) return new OutboundError("timeout", "the answer stalled", error);
  return new OutboundError("lost", `the connection was lost (${code || "no code"})`, error);
}
