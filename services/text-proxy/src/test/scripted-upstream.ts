// An upstream that sends exactly the test's bytes: it records its requests and lets the test answer.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

export interface Arrived {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** Names and values as received, in order. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

export type Script = (request: Arrived, response: ServerResponse) => void | Promise<void>;

export class ScriptedUpstream {
  readonly requests: Arrived[] = [];
  /** Answers GET /generation; 404 when not set. */
  generations: Script = (_request, response) => {
    response
      .writeHead(404, { "content-type": "application/json" })
      .end('{"error":{"message":"no","code":404}}');
  };
  #script: Script = (_request, response) => {
    response.writeHead(500).end();
  };
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/api/v1`;
  }

  /** Sets how the next requests are answered, and forgets the earlier ones. */
  script(script: Script): void {
    this.requests.length = 0;
    this.#script = script;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request).catch(() => undefined);
    // Cut off before its end.
    if (body === undefined) return;
    const arrived: Arrived = {
      path: request.url ?? "",
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body,
    };
    if (request.method === "GET") {
      await this.generations(arrived, response);
      return;
    }
    this.requests.push(arrived);
    await this.#script(arrived, response);
  }
}

export function sendJson(response: ServerResponse, body: string, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body);
}

export function startStream(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.flushHeaders();
}
