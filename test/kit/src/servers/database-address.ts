// The one address of a replicated PostgreSQL, like a proxy or a floating address. It connects to one server at a time,
// and its clients cannot distinguish the servers.
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

interface Session {
  readonly client: Socket;
  readonly server: Socket;
  /** Whether its server is silently lost: no byte arrives any more, not even the end. */
  silent: boolean;
  /** Whether the server's next answer is lost, and after all of it the connection. */
  losing: boolean;
}

/** The last message of every answer: ready for the next question, in no transaction. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

export class DatabaseAddress {
  readonly #listener: Server;
  readonly #sessions = new Set<Session>();
  #target: URL;
  #toLose: { asked: string; left: number } | undefined;

  private constructor(target: URL) {
    this.#target = target;
    this.#listener = createServer((client) => this.#join(client));
  }

  static async to(url: string): Promise<DatabaseAddress> {
    const address = new DatabaseAddress(new URL(url));
    await new Promise<void>((resolve) => address.#listener.listen(0, "127.0.0.1", resolve));
    return address;
  }

  /** URL with the login and the database of its first server. */
  get url(): string {
    const { username, password, pathname } = this.#target;
    const { port } = this.#listener.address() as AddressInfo;
    return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`;
  }

  /** From now on, new connections reach another server. */
  leadTo(url: string): void {
    this.#target = new URL(url);
  }

  /** Existing connections receive no more bytes, like those to a machine without power. */
  silence(): void {
    for (const session of this.#sessions) {
      session.silent = true;
      session.client.resume();
      session.server.destroy();
    }
  }

  /**
   * Loses this number of answers to messages with this text, with their connections, after the server has committed.
   */
  loseAnswers(asked: string, count: number): void {
    this.#toLose = { asked, left: count };
  }

  async close(): Promise<void> {
    for (const { client, server } of this.#sessions) {
      client.destroy();
      server.destroy();
    }
    await new Promise((resolve) => this.#listener.close(resolve));
  }

  #join(client: Socket): void {
    const folder = this.#target.searchParams.get("host");
    const port = Number(this.#target.port);
    const server =
      folder === null ? connect(port, this.#target.hostname) : connect(`${folder}/.s.PGSQL.${port}`);
    const session: Session = { client, server, silent: false, losing: false };
    this.#sessions.add(session);
    client.on("data", (bytes: Buffer) => {
      if (session.silent) return;
      if (this.#seesLoss(bytes)) session.losing = true;
      server.write(bytes);
    });
    server.on("data", (bytes: Buffer) => {
      if (session.losing && bytes.subarray(-READY.length).equals(READY)) client.destroy();
      if (!session.silent && !session.losing) client.write(bytes);
    });
    // A lost connection is lost on both sides; its error has no further information.
    client.on("error", () => server.destroy());
    server.on("error", () => session.silent || client.destroy());
    client.on("close", () => {
      this.#sessions.delete(session);
      server.destroy();
    });
    server.on("close", () => session.silent || client.destroy());
  }

  #seesLoss(bytes: Buffer): boolean {
    const next = this.#toLose;
    if (next === undefined || next.left === 0 || !bytes.includes(next.asked)) return false;
    next.left -= 1;
    return true;
  }
}
