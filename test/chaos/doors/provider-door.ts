// A proxy before the simulated providers, in the test's own process. A test may act before a
// request arrives, before its answer is sent, or in the middle of a file.
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Requests of a video's life at its provider. */
export type Exchange = "submit" | "poll" | "content";

/** Moment at which a test may act; the request is cut if the test throws. */
export type Moment = `${"before" | "after"} ${Exchange}` | "half of content";

const PATHS: readonly (readonly [exchange: Exchange, method: string, path: RegExp])[] = [
  ["submit", "POST", /\/videos$/],
  ["content", "GET", /\/videos\/[^/]+\/content/],
  ["poll", "GET", /\/videos\/[^/]+$/],
];

interface Received {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export class ProviderDoor {
  /** Called with the count of this moment since the door was last opened, from 1. */
  step: (moment: Moment, count: number) => Promise<void> = async () => undefined;
  /** Submissions that reached the provider. */
  submitted = 0;
  readonly #target: URL;
  readonly #counts = new Map<Moment, number>();
  readonly #server = createServer((request, response) => {
    this.#pass(request, response).catch(() => response.destroy());
  });

  constructor(target: string) {
    this.#target = new URL(target);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return this;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Ends the test's actions; everything passes. */
  open(): void {
    this.#counts.clear();
    this.step = async () => undefined;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readAll(request);
    const { method = "GET", url = "/" } = request;
    const exchange = PATHS.find(([, verb, path]) => verb === method && path.test(url))?.[0];
    if (exchange !== undefined) await this.#step(`before ${exchange}`);
    if (exchange === "submit") this.submitted += 1;
    const answer = await this.#forward(request, body);
    if (exchange !== undefined) await this.#step(`after ${exchange}`);
    // As one piece, so that its length is fixed.
    const { "transfer-encoding": _, ...headers } = answer.headers;
    response.writeHead(answer.status, { ...headers, "content-length": answer.body.length });
    if (exchange === "content") {
      const half = answer.body.length >> 1;
      response.write(answer.body.subarray(0, half));
      await this.#step("half of content");
      response.end(answer.body.subarray(half));
    } else response.end(answer.body);
  }

  async #step(moment: Moment): Promise<void> {
    const count = (this.#counts.get(moment) ?? 0) + 1;
    this.#counts.set(moment, count);
    await this.step(moment, count);
  }

  #forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Received> {
    const { hostname, port } = this.#target;
    return new Promise((resolve, reject) => {
      const options = { hostname, port, method, path: url, headers };
      const sent = httpRequest(options, (answer) => {
        const { statusCode: status = 502 } = answer;
        readAll(answer).then((bytes) => resolve({ status, headers: answer.headers, body: bytes }), reject);
      });
      sent.once("error", reject);
      sent.end(body);
    });
  }
}

async function readAll(stream: AsyncIterable<unknown>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
