// The only way out: every request to another host goes through here. Answers are counted and cut, compression is not
// accepted. Where adapters send to comes from config and may be private, and redirects are not followed. What an answer
// names is downloaded from the public internet or from a configured host only, wherever redirects lead.
import { Agent, buildConnector, type Dispatcher, type FormData, request } from "undici";
import { NOT_PUBLIC, publicLookup, type ResolveAll, refusalOf } from "./public-address.ts";

export interface OutboundRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  /** Lower case. Nothing of a client's request gets in here: adapters name each. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | FormData;
  /** Ends the request, whatever it waits for; a TimeoutError counts as a timeout. */
  readonly signal: AbortSignal;
}

export interface Download {
  /** As an answer names it. */
  readonly url: string;
  readonly maxBytes: number;
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
 * - refused: the address is none that we go to
 */
export type OutboundFailure = "not_sent" | "timeout" | "lost" | "unreadable" | "refused";

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
  /** Fetches an address that we were told, without any secret. @throws OutboundError */
  download(download: Download): Promise<Buffer>;
  close(): Promise<void>;
}

export interface OutboundOptions {
  readonly connectTimeoutMs?: number;
  /** Longest pause within an answer that has begun. */
  readonly stallTimeoutMs?: number;
  readonly maxAnswerBytes?: number;
  /** Origins of configured hosts: what they name on themselves is downloaded wherever they are. */
  readonly trustedOrigins?: ReadonlySet<string>;
  /** Replaces the system's resolver in tests. */
  readonly resolveAll?: ResolveAll;
}

const CONNECT_TIMEOUT_MS = 5_000;
const DOWNLOAD_CONNECT_TIMEOUT_MS = 3_000;
const STALL_TIMEOUT_MS = 30_000;
const MOST_REDIRECTS = 3;
/** Ten 4-megapixel PNGs in base64. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
const TIMED_OUT = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

export function createOutbound(options: OutboundOptions = {}): Outbound {
  const maxAnswerBytes = options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  const timeouts = {
    // The time until an answer begins is limited by each request's own signal.
    headersTimeout: 0,
    bodyTimeout: options.stallTimeoutMs ?? STALL_TIMEOUT_MS,
    allowH2: false,
  };
  /** Of connections that were not made, whatever was in their way: nobody has seen what they were for. */
  const notConnected = new WeakSet<Error>();
  const connectorOf = (details: buildConnector.BuildOptions): buildConnector.connector => {
    const connect = buildConnector({ ...details, allowH2: false });
    return (target, callback) =>
      connect(target, (...result) => {
        if (result[0] !== null) notConnected.add(result[0]);
        callback(...result);
      });
  };
  const connect = connectorOf({ timeout: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS });
  // A connection is used once: on a kept one, a paid request could be lost to a server that is just closing it,
  // and nobody could tell whether it was seen.
  const once = new Agent({ connect, ...timeouts, pipelining: 0 });
  /** Polls and downloads may be repeated. */
  const kept = new Agent({ connect, ...timeouts });
  const guarded = new Agent({
    connect: connectorOf({
      timeout: DOWNLOAD_CONNECT_TIMEOUT_MS,
      lookup: publicLookup(options.resolveAll),
    }),
    ...timeouts,
  });

  async function send({ method, url, headers, body, signal }: OutboundRequest): Promise<OutboundAnswer> {
    try {
      const answer = await request(url, {
        dispatcher: method === "GET" ? kept : once,
        method,
        headers: { ...headers, "accept-encoding": "identity" },
        ...(body === undefined ? {} : { body }),
        signal,
      });
      const bytes = await readAnswer(answer, maxAnswerBytes);
      return {
        status: answer.statusCode,
        header: (name) => headerOf(answer, name),
        bytes,
        json: () => parseJson(bytes),
      };
    } catch (error) {
      throw explain(error, signal, error instanceof Error && notConnected.has(error));
    }
  }

  async function fetchOnce(url: URL, { maxBytes, signal }: Download): Promise<Buffer | URL> {
    const trusted = options.trustedOrigins?.has(url.origin) === true;
    const refusal = trusted ? undefined : refusalOf(url);
    if (refusal !== undefined) throw new OutboundError("refused", `the address is refused: ${refusal}`);
    try {
      const answer = await request(url, {
        dispatcher: trusted ? kept : guarded,
        headers: { "accept-encoding": "identity" },
        signal,
      });
      if (answer.statusCode === 200) return await readAnswer(answer, maxBytes);
      hangUp(answer);
      const location = headerOf(answer, "location");
      if (REDIRECTS.has(answer.statusCode) && location !== undefined) return new URL(location, url);
      throw new OutboundError("lost", `the address answered ${answer.statusCode}`);
    } catch (error) {
      throw explain(error, signal, error instanceof Error && notConnected.has(error));
    }
  }

  async function download(wanted: Download): Promise<Buffer> {
    let next: Buffer | URL = parseUrl(wanted.url);
    for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
      next = await fetchOnce(next, wanted);
      if (Buffer.isBuffer(next)) return next;
    }
    throw new OutboundError("refused", `the address leads on more than ${MOST_REDIRECTS} times`);
  }

  const close = async () => {
    await Promise.all([once, kept, guarded].map((agent) => agent.destroy()));
  };
  return { send, download, close };
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

function headerOf(answer: Dispatcher.ResponseData, name: string): string | undefined {
  return [answer.headers[name] ?? []].flat()[0];
}

function parseUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw new OutboundError("refused", "the address is refused: it is no URL");
  return url;
}

/** Destroying emits its own error, which would end the process if nobody listened; ours is the one that counts. */
function hangUp(answer: Dispatcher.ResponseData): void {
  answer.body.on("error", () => undefined).destroy();
}

async function readAnswer(answer: Dispatcher.ResponseData, maxBytes: number): Promise<Buffer> {
  const encoding = answer.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") {
    hangUp(answer);
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
  if (code === NOT_PUBLIC)
    return new OutboundError("refused", "the address is not in the public internet", error);
  if (unsent) return new OutboundError("not_sent", `no connection was made (${code})`, error);
  if (TIMED_OUT.has(code)) return new OutboundError("timeout", "the answer stalled", error);
  return new OutboundError("lost", `the connection was lost (${code || "no code"})`, error);
}
