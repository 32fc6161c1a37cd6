// Outbound sends every request to another host. Answers have a byte limit, and compression is refused. Hosts of
// adapters are configured and may be private, and redirects are not followed. Addresses from answers are downloaded
// from the public internet or from configured hosts only, after each redirect too.
import { Readable } from "node:stream";
import {
  ArrivingBytes,
  dataOf,
  endOfEvent,
  inSpan,
  outwardTraceHeaders,
  parseForeignJson,
  readForeignJson,
  SpanKind,
  SseSplitter,
  serverOf,
} from "@gr/runtime";
import { Agent, buildConnector, type Dispatcher, request } from "undici";
import { NOT_PUBLIC, publicLookup, type ResolveAll, refusalOf } from "./public-address.ts";

export interface OutboundRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly url: string;
  /** Lower case. Each header is named by an adapter. No header of the client's request is forwarded. */
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces are sent one after the other; then the headers have their total length. */
  readonly body?: string | Buffer | readonly Buffer[] | AsyncIterable<Buffer>;
  /** Ends the request in any state; a TimeoutError counts as a timeout. */
  readonly signal: AbortSignal;
}

export interface Download {
  /** Address as the answer contains it. */
  readonly url: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Called with the size of each piece on arrival. An error from it ends the download. */
  readonly arrived?: (bytes: number) => void;
}

/** Message to an address that a client or an account named. */
export interface OutboundPost {
  readonly url: string;
  /** Lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
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
 * `not_sent`: no connection was established, so no server has seen the request.
 * `timeout`: the signal timed out, or the answer stalled.
 * `lost`: the connection broke, or we aborted, before the answer was complete.
 * `unreadable`: the answer was too large, or in an encoding that we refuse.
 * `refused`: the address is not allowed.
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

/** Answer with an unread body. The function's user reads or drops it. */
export interface OutboundStream extends Pick<OutboundAnswer, "status" | "header"> {
  /** Pieces of the body, readable once. @throws OutboundError during the read */
  readonly chunks: AsyncIterable<Buffer>;
  /** Closes the connection without reading the body. */
  hangUp(): void;
}

/** Receives the JSON of an event; undefined if it is none. @returns false if no further event is to be read */
export type EventReader = (event: unknown) => Promise<boolean>;

export interface Outbound {
  /**
   * Resolves with any status.
   * @param events reads an answer of server-sent events with the status 200; the resolved body is then empty
   * @throws OutboundError, and any error of `events`
   */
  send(outgoing: OutboundRequest, events?: EventReader): Promise<OutboundAnswer>;
  /** Resolves with any status, as soon as the head has arrived. @throws OutboundError */
  open(outgoing: OutboundRequest, maxBytes: number): Promise<OutboundStream>;
  /**
   * Posts to an address under the rules of downloads, without any secret. Redirects are not followed, and the body of the
   * answer is not read. @throws OutboundError
   */
  post(post: OutboundPost): Promise<Pick<OutboundAnswer, "status" | "header">>;
  /** Refuses an address that no download may use, by its text and without DNS. @throws OutboundError */
  checkAddress(url: string): void;
  /** Fetches an address from an answer or a client, without any secret. @throws OutboundError */
  download(download: Download): Promise<Buffer>;
  /** Fetches like `download`, piece by piece. @throws OutboundError during the read */
  stream(download: Download): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

export interface OutboundOptions {
  readonly connectTimeoutMs?: number;
  /** Longest pause within an answer, in milliseconds, after its start. */
  readonly stallTimeoutMs?: number;
  /** Longest silence of a download's host, before its answer and within it. Default: the limit of other answers. */
  readonly downloadSilenceMs?: number;
  readonly maxAnswerBytes?: number;
  /** Origins of configured hosts. Addresses on them are downloaded, even private ones. */
  readonly trustedOrigins?: ReadonlySet<string>;
  /** Awaited once for each large answer, before its remaining bytes are read. */
  readonly beforeLarge?: (signal: AbortSignal) => Promise<void>;
  /** Replaces the system's resolver in tests. */
  readonly resolveAll?: ResolveAll;
}

const CONNECT_TIMEOUT_MS = 5_000;
const DOWNLOAD_CONNECT_TIMEOUT_MS = 3_000;
const STALL_TIMEOUT_MS = 30_000;
const MOST_REDIRECTS = 3;
/** Ten 4-megapixel PNGs in base64. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
/** Size above any status answer and below any generated file, in bytes. */
const LARGE_BYTES = 256 * 1024;
/** Bytes of an answer that show whether it is JSON. */
const BEGINNING = 16;
const TIMED_OUT = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"]);

export function createOutbound(options: OutboundOptions = {}): Outbound {
  const maxAnswerBytes = options.maxAnswerBytes ?? MAX_ANSWER_BYTES;
  const timeouts = {
    // The time until an answer begins is limited by each request's own signal.
    headersTimeout: 0,
    bodyTimeout: options.stallTimeoutMs ?? STALL_TIMEOUT_MS,
    allowH2: false,
  };
  /** Errors of connections that were not established, for any reason: no server has seen the request. */
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
  // Each connection is used once. On a reused one, a server that is just closing it could lose a paid request,
  // and we could not find out whether the server had seen it.
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

  const explained = (error: unknown, signal: AbortSignal) =>
    explain(error, signal, error instanceof Error && notConnected.has(error));
  const { downloadSilenceMs } = options;
  const silence =
    downloadSilenceMs === undefined
      ? {}
      : { headersTimeout: downloadSilenceMs, bodyTimeout: downloadSilenceMs };
  const asks = { "accept-encoding": "identity" };

  /** The span ends with the head of the answer. */
  const open = (
    outgoing: OutboundRequest,
    maxBytes: number,
    pauses: { bodyTimeout?: number } = {},
  ): Promise<OutboundStream> =>
    inSpan(
      outgoing.method,
      () => ({
        kind: SpanKind.CLIENT,
        attributes: { "http.request.method": outgoing.method, ...serverOf(new URL(outgoing.url)) },
      }),
      async (span) => {
        const answer = await exchange(outgoing, maxBytes, pauses);
        span?.setAttribute("http.response.status_code", answer.status);
        return answer;
      },
    );

  async function exchange(
    { method, url, headers, body, signal }: OutboundRequest,
    maxBytes: number,
    pauses: { bodyTimeout?: number },
  ): Promise<OutboundStream> {
    try {
      const answer = await request(url, {
        dispatcher: method === "GET" ? kept : once,
        method,
        headers: { ...headers, ...asks, ...outwardTraceHeaders() },
        ...(body === undefined
          ? {}
          : { body: typeof body === "string" || Buffer.isBuffer(body) ? body : Readable.from(body) }),
        signal,
        ...pauses,
      });
      return {
        status: answer.statusCode,
        header: (name) => headerOf(answer, name),
        chunks: chunksOf(answer, { maxBytes, signal }),
        hangUp: () => hangUp(answer),
      };
    } catch (error) {
      throw explained(error, signal);
    }
  }

  async function send(outgoing: OutboundRequest, events?: EventReader): Promise<OutboundAnswer> {
    // A provider may work for minutes between two events; the request's own signal limits the whole.
    const pauses = events === undefined ? {} : { bodyTimeout: 0 };
    const { status, header, chunks } = await open(outgoing, maxAnswerBytes, pauses);
    const { signal } = outgoing;
    if (events !== undefined && status === 200 && EVENT_STREAM.test(header("content-type") ?? "")) {
      const { host: owner } = new URL(outgoing.url);
      await readEvents(chunks, events, { owner, signal, admit: admitLarge });
      return { status, header, bytes: Buffer.alloc(0), json: () => undefined };
    }
    const bytes = await collect(chunks, signal, Number(header("content-length") ?? LARGE_BYTES));
    if (bytes.length <= LARGE_BYTES) return { status, header, bytes, json: () => parseJson(bytes) };
    const value = await parseLong(bytes, new URL(outgoing.url).host, signal);
    return { status, header, bytes, json: () => value };
  }

  async function* chunksOf(
    answer: Dispatcher.ResponseData,
    { maxBytes, signal, arrived }: Pick<Download, "maxBytes" | "signal" | "arrived">,
  ): AsyncGenerator<Buffer> {
    const encoding = answer.headers["content-encoding"] ?? "identity";
    if (encoding !== "identity") {
      hangUp(answer);
      throw new OutboundError("unreadable", "the answer is compressed although that was not accepted");
    }
    let size = 0;
    try {
      for await (const chunk of answer.body as AsyncIterable<Buffer>) {
        size += chunk.byteLength;
        // The end of the loop destroys the body and its connection.
        if (size > maxBytes) {
          throw new OutboundError("unreadable", `the answer is larger than ${maxBytes} bytes`);
        }
        arrived?.(chunk.byteLength);
        yield chunk;
      }
    } catch (error) {
      throw explained(error, signal);
    }
  }

  /** @param announced bytes of the answer. A status answer is polled often, and V8 collects all garbage for each 64 MB of room. */
  async function collect(
    chunks: AsyncIterable<Buffer>,
    signal: AbortSignal,
    announced = LARGE_BYTES,
  ): Promise<Buffer> {
    const arriving = new ArrivingBytes(Math.min(announced, LARGE_BYTES));
    let large = false;
    for await (const chunk of chunks) {
      arriving.push(chunk);
      if (large || arriving.length <= LARGE_BYTES) continue;
      large = true;
      await admitLarge(signal);
    }
    return arriving.whole();
  }

  async function admitLarge(signal: AbortSignal): Promise<void> {
    await options.beforeLarge?.(signal).catch((error) => {
      throw explained(error, signal);
    });
  }

  /** @returns true if the host is configured: private addresses are then allowed. @throws OutboundError */
  function requireAllowed(url: URL): boolean {
    if (options.trustedOrigins?.has(url.origin) === true) return true;
    const refusal = refusalOf(url);
    if (refusal !== undefined) throw new OutboundError("refused", `the address is refused: ${refusal}`);
    return false;
  }

  const checkAddress = (url: string) => void requireAllowed(parseUrl(url));

  async function post({ url, headers, body, signal }: OutboundPost) {
    const target = parseUrl(url);
    const dispatcher = requireAllowed(target) ? once : guarded;
    try {
      const answer = await request(target, {
        dispatcher,
        method: "POST",
        headers: { ...headers, ...asks },
        body,
        signal,
      });
      hangUp(answer);
      return { status: answer.statusCode, header: (name: string) => headerOf(answer, name) };
    } catch (error) {
      throw explained(error, signal);
    }
  }

  /** @returns the redirect's target, or the body */
  async function fetchOnce(url: URL, wanted: Download): Promise<AsyncIterable<Buffer> | URL> {
    const trusted = requireAllowed(url);
    const { signal } = wanted;
    try {
      const dispatcher = trusted ? kept : guarded;
      const answer = await request(url, { dispatcher, headers: asks, signal, ...silence });
      if (answer.statusCode === 200) return chunksOf(answer, wanted);
      hangUp(answer);
      const location = headerOf(answer, "location");
      if (REDIRECTS.has(answer.statusCode) && location !== undefined) return new URL(location, url);
      throw new OutboundError("lost", `the address answered ${answer.statusCode}`);
    } catch (error) {
      throw explained(error, signal);
    }
  }

  async function* stream(wanted: Download): AsyncGenerator<Buffer> {
    let next: AsyncIterable<Buffer> | URL = parseUrl(wanted.url);
    for (let hop = 0; hop <= MOST_REDIRECTS; hop += 1) {
      next = await fetchOnce(next, wanted);
      if (!(next instanceof URL)) return yield* next;
    }
    throw new OutboundError("refused", `the address leads on more than ${MOST_REDIRECTS} times`);
  }

  const download = (wanted: Download) => collect(stream(wanted), wanted.signal);

  const close = async () => {
    await Promise.all([once, kept, guarded].map((agent) => agent.destroy()));
  };
  return {
    send,
    open: (outgoing, maxBytes) => open(outgoing, maxBytes),
    post,
    checkAddress,
    download,
    stream,
    close,
  };
}

const EVENT_STREAM = /^\s*text\/event-stream\s*(;|$)/i;

interface EventReading {
  readonly owner: string;
  readonly signal: AbortSignal;
  /** Awaited once, before the remaining bytes of a large event are read. */
  readonly admit: (signal: AbortSignal) => Promise<void>;
}

/** The end of the loop closes the connection. */
async function readEvents(
  chunks: AsyncIterable<Buffer>,
  events: EventReader,
  { owner, signal, admit }: EventReading,
): Promise<void> {
  const splitter = new SseSplitter();
  let large = false;
  for await (const chunk of chunks) {
    const block = splitter.push(chunk);
    if (!large && splitter.pendingBytes > LARGE_BYTES) {
      large = true;
      await admit(signal);
    }
    for (let at = 0, end = 0; block !== undefined && at < block.length; at = end) {
      end = endOfEvent(block, at);
      const event = block.subarray(at, end);
      const data = dataOf(event);
      if (data === undefined) continue;
      const json = await parseLong(event.subarray(data.start, data.end), owner, signal);
      if (!(await events(json))) return;
    }
  }
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

/** Destroying emits its own error, which would end the process without a listener. Our error is the relevant one. */
function hangUp(answer: Dispatcher.ResponseData): void {
  answer.body.on("error", () => undefined).destroy();
}

/** An answer that does not begin like JSON is not parsed: most such answers are pictures. */
async function parseLong(bytes: Buffer, owner: string, signal: AbortSignal): Promise<unknown> {
  if (!/^\s*[[{]/.test(bytes.toString("latin1", 0, BEGINNING))) return undefined;
  try {
    return await readForeignJson(bytes, { owner, signal });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw explain(error, signal, false);
  }
}

function parseJson(bytes: Buffer): unknown {
  try {
    return parseForeignJson(bytes);
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
