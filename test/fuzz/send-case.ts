// Sends one request of the fuzzer the way its client behaves, and says what came back.
import { connect } from "node:net";
import { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";
import type { FuzzCase } from "./fuzz-case.ts";
import type { World } from "./world.ts";

/** What was really sent. */
export interface SentCase {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /** Everything of the request in which a fault may be asked for. */
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
  /** More than one where bytes were changed; none where the connection was closed or the client gave up. */
  readonly answers: readonly CaseAnswer[];
  /** Why there is no answer though the client waited for one. */
  readonly failure: string | undefined;
}

/** No answer takes so long, whatever the machine; who meets it has found a request that hangs. */
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

/** @param waits for what comes back; otherwise the client is gone as soon as its bytes are */
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
    // A connection that is reset has said what it had to say.
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve({ sent, answers: answersIn(answer), failure }));
  });
}

/** Nothing that we answer has such words in its body. */
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
