// Sends one request of the fuzzer with the conduct of its client, and returns the answers.
import { connect } from "node:net";
import { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import type { FuzzCase } from "./fuzz-case.ts";
import type { World } from "./world.ts";

/** The request as it was sent. */
export interface SentCase {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** All parts of the request that may name a fault. */
  readonly text: string;
  /** On performance's clock. */
  readonly startedAt: number;
}

export interface CaseAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

export interface Outcome {
  readonly sent: SentCase;
  /** More than one if bytes were changed; none if the connection was closed or the client aborted. */
  readonly answers: readonly CaseAnswer[];
  /** Reason for the missing answer of a client that waited for one. */
  readonly failure: string | undefined;
}

/** Milliseconds far above any answer on any machine; a request that exceeds them hangs. */
const PATIENCE_MS = 180_000;
const SLICES = 3;

export async function sendCase(
  { method, path, query, caller, headers, body, conduct, pick, breakBytes }: FuzzCase,
  world: World,
  baseUrl: string,
  dispatcher: Dispatcher,
): Promise<Outcome> {
  const authorization = world.authorization(caller, pick);
  const target = world.fill(path, pick) + query.replaceAll("{id}", world.fill("{id}", pick));
  const all = { ...headers, ...(authorization === undefined ? {} : { authorization }) };
  const text = `${target} ${body?.toString("latin1") ?? ""}`;
  const sent = { method, path: target, authorization, headers: all, text, startedAt: performance.now() };
  if (conduct === "raw" || conduct === "gives up") {
    const wire = wireOf(sent, body);
    const bytes =
      conduct === "raw" ? breakBytes(wire) : wire.subarray(0, wire.length - (body?.length ?? 0) / 2);
    return sendBytes({ ...sent, text: bytes.toString("latin1") }, bytes, baseUrl, conduct === "raw");
  }
  const leaving = conduct === "leaves" ? new AbortController() : undefined;
  try {
    const answer = await request(`${baseUrl}${target}`, {
      method: method as Dispatcher.HttpMethod,
      dispatcher,
      headers: all,
      headersTimeout: PATIENCE_MS,
      bodyTimeout: PATIENCE_MS,
      ...(leaving === undefined ? {} : { signal: leaving.signal }),
      ...(body === undefined
        ? {}
        : { body: conduct === "trickles" ? Readable.from(slicesOf(body), { objectMode: false }) : body }),
    });
    const { statusCode: status, headers: answered } = answer;
    if (leaving !== undefined) {
      leaving.abort();
      await answer.body.text().catch(() => "the client has left");
      return { sent, answers: [{ status, headers: answered, text: "" }], failure: undefined };
    }
    return {
      sent,
      answers: [{ status, headers: answered, text: await answer.body.text() }],
      failure: undefined,
    };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { sent, answers: [], failure: `${code ?? ""} ${message}` };
  }
}

async function* slicesOf(body: Buffer) {
  const length = Math.ceil(body.length / SLICES);
  for (let at = 0; at < body.length; at += length) {
    yield body.subarray(at, at + length);
    await new Promise(setImmediate);
  }
}

function wireOf({ method, path, headers }: SentCase, body: Buffer | undefined): Buffer {
  const lines = Object.entries({
    host: "fuzz",
    connection: "close",
    ...headers,
    ...(body === undefined ? {} : { "content-length": String(body.length) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n`, "latin1");
  return body === undefined ? head : Buffer.concat([head, body]);
}

/** @param waits reads the answer; otherwise the client disconnects right after its bytes */
function sendBytes(sent: SentCase, bytes: Buffer, baseUrl: string, waits: boolean): Promise<Outcome> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve) => {
    let answer = "";
    let failure: string | undefined;
    const socket = connect(Number(port), hostname, () => {
      if (waits) socket.end(bytes);
      else socket.write(bytes, () => socket.destroy());
    });
    socket.setTimeout(PATIENCE_MS, () => {
      failure = "the connection was neither answered nor closed";
      socket.destroy();
    });
    socket.on("data", (chunk) => {
      answer += chunk.toString("latin1");
    });
    // All bytes of a reset connection have arrived before.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve({ sent, answers: answersIn(answer), failure }));
  });
}

/** Splits received bytes; no body of ours contains these words. */
function answersIn(received: string): CaseAnswer[] {
  return received
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter((answer) => answer.startsWith("HTTP/1.1 "))
    .map((answer) => {
      const [head = "", ...rest] = answer.split("\r\n\r\n");
      const lines = head
        .split("\r\n")
        .slice(1)
        .map((line) => line.split(": "));
      const headers = Object.fromEntries(
        lines.map(([name = "", ...value]) => [name.toLowerCase(), value.join(": ")]),
      );
      return { status: Number(answer.slice(9, 12)), headers, text: rest.join("\r\n\r\n") };
    });
}
