// An upstream that answers by script: one entry per request, in order. Received requests are stored for checks.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As UTF-8, and as raw bytes. */
  readonly body: string;
  readonly bytes: Buffer;
}

export interface FixedAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | object;
}

/** An answer, or a function with full control of the response. */
export type ScriptEntry =
  | FixedAnswer
  | ((response: ServerResponse, request: ReceivedRequest) => void | Promise<void>);

export interface ScriptedServer {
  readonly url: string;
  readonly requests: ReceivedRequest[];
  /** Replaces the remaining script; its last entry answers all further requests. */
  play(...script: ScriptEntry[]): void;
  close(): Promise<void>;
}

export async function startScriptedServer(): Promise<ScriptedServer> {
  let script: ScriptEntry[] = [];
  const requests: ReceivedRequest[] = [];
  const server = createServer((request, response) => {
    void answer(request, response);
  });
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on("error", () => undefined);
    const bytes = await readBody(request);
    const received = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: bytes.toString("utf8"),
      bytes,
    };
    requests.push(received);
    const entry = script.length > 1 ? script.shift() : script[0];
    if (entry === undefined) response.writeHead(599).end("no script");
    else if (typeof entry === "function") await entry(response, received);
    else send(response, entry);
  }
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    play: (...entries) => {
      script = entries;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function send(response: ServerResponse, { status, headers, body = "" }: FixedAnswer): void {
  const text = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
