// The address of a service in a cluster: each new connection reaches the next of its pods, and existing ones stay with
// theirs until one side ends them.
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class ServiceDoor {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #ports: readonly number[] = [];
  #next = 0;

  private constructor() {
    this.#server = createServer((client) => this.#join(client));
  }

  static async open(): Promise<ServiceDoor> {
    const door = new ServiceDoor();
    await new Promise<void>((resolve) => door.#server.listen(0, "127.0.0.1", resolve));
    return door;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  add(port: number): void {
    this.#ports = [...this.#ports, port];
  }

  remove(port: number): void {
    this.#ports = this.#ports.filter((one) => one !== port);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    const port = this.#ports[this.#next % this.#ports.length];
    this.#next += 1;
    if (port === undefined) {
      client.destroy();
      return;
    }
    const pod = connect({ port, host: "127.0.0.1", noDelay: true });
    client.setNoDelay(true);
    for (const [from, to] of [
      [client, pod],
      [pod, client],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(to);
      // A lost connection is lost on both sides; its error has no further information.
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
  }
}
