// A text upstream that outlives its clients. A test controls each step of an answer, the bill is the upstream's own,
// and a generation can be looked up by the id of its request.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createListener, type Socket } from "node:net";
import { formatPicoUsd, type PicoUsd } from "@gr/money";

export type Script = (response: ServerResponse, requestId: string) => void | Promise<void>;

export class MeteredUpstream {
  /** Ids of the requests that were read, in order. */
  readonly read: string[] = [];
  /** Receives each connection before any byte is read from it; true keeps the connection unread. */
  accept: (socket: Socket) => boolean = () => false;
  /** Whether look-ups find the bill. */
  findable = true;
  script: Script = (response) => void response.writeHead(500).end();
  readonly #bill = new Map<string, PicoUsd>();
  readonly #http = createServer((request, response) => void this.#answer(request, response));
  readonly #sockets = new Set<Socket>();
  readonly #listener = createListener({ pauseOnConnect: true }, (socket) => {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    if (this.accept(socket)) return;
    this.#http.emit("connection", socket);
    socket.resume();
  });

  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#listener.listen(0, "127.0.0.1", resolve));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#listener.address() as AddressInfo).port}/api/v1`;
  }

  charge(requestId: string, cost: PicoUsd): void {
    this.#bill.set(requestId, cost);
  }

  get billed(): PicoUsd {
    return [...this.#bill.values()].reduce((sum, cost) => sum + cost, 0n);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    await new Promise((resolve) => request.once("end", resolve));
    if (request.method === "GET") {
      this.#lookUp(new URL(request.url ?? "/", this.url).searchParams.get("id") ?? "", response);
      return;
    }
    const id = String(request.headers["x-request-id"]);
    this.read.push(id);
    // Each request has a connection of its own, which a test can refuse to read.
    response.shouldKeepAlive = false;
    await this.script(response, id);
  }

  #lookUp(id: string, response: ServerResponse): void {
    const cost = this.findable ? this.#bill.get(id) : undefined;
    response.writeHead(cost === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(cost === undefined ? {} : { data: { id, total_cost: formatPicoUsd(cost) } }));
  }
}
