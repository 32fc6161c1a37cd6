// A proxy before Redis that a test can freeze (Redis hangs) or cut (Redis is unreachable), and repair.

import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

export class RedisLine {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target: URL;
  #state: "open" | "frozen" | "cut" = "open";

  private constructor(url: string) {
    this.#target = new URL(url);
    this.#server = createServer((client) => this.#join(client));
  }

  static async to(url: string): Promise<RedisLine> {
    const line = new RedisLine(url);
    await new Promise<void>((resolve) => line.#server.listen(0, "127.0.0.1", resolve));
    return line;
  }

  /** Address of the same database through the proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** Drops all bytes; connections stay. */
  freeze(): void {
    this.#state = "frozen";
    for (const socket of this.#sockets) socket.pause();
  }

  /** Closes connections, new ones too. */
  cut(): void {
    this.#state = "cut";
    for (const socket of this.#sockets) socket.destroy();
  }

  /** From now on, new connections reach another server. */
  leadTo(url: string): void {
    this.#target = new URL(url);
  }

  mend(): void {
    this.#state = "open";
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    if (this.#state === "cut") {
      client.destroy();
      return;
    }
    const redis = connect(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [client, redis],
      [redis, client],
    ] as const) {
      this.#sockets.add(from);
      from.on("data", (bytes) => to.write(bytes));
      // A lost connection is lost on both sides; its error has no further information.
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#state === "frozen") from.pause();
    }
  }
}
