// An upload that a test sends byte by byte, over a connection of its own, at any speed and length.
import { connect, type Socket } from "node:net";

export interface RawUploadOptions {
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Content-Length; absent: the body is sent in chunks without a length. */
  readonly announced?: number;
}

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  /** Parsed body of JSON answers. */
  readonly body: ReturnType<typeof JSON.parse>;
}

const PATIENCE_MS = 60_000;

export class RawUpload {
  readonly #socket: Socket;
  readonly #chunked: boolean;
  readonly #closed = Promise.withResolvers<void>();
  readonly #answer = Promise.withResolvers<RawAnswer>();
  #received = "";

  constructor(baseUrl: string, { path, headers = {}, announced }: RawUploadOptions) {
    const { hostname, port } = new URL(baseUrl);
    this.#chunked = announced === undefined;
    this.#socket = connect(Number(port), hostname);
    const lines = Object.entries({
      host: "test",
      "content-type": "application/json",
      ...headers,
      ...(announced === undefined
        ? { "transfer-encoding": "chunked" }
        : { "content-length": String(announced) }),
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(`POST ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
    this.#socket.on("data", (bytes) => this.#read(bytes.toString("latin1")));
    this.#socket.on("error", () => undefined);
    this.#socket.setTimeout(PATIENCE_MS, () => this.#socket.destroy());
    this.#socket.on("close", () => {
      this.#closed.resolve();
      this.#answer.reject(new Error(`closed without an answer, after: ${this.#received}`));
    });
    // A test may ignore the answer.
    this.#answer.promise.catch(() => undefined);
  }

  /** @returns once this process has sent the bytes */
  send(bytes: string | Buffer): Promise<void> {
    const text = Buffer.from(bytes);
    const framed = this.#chunked
      ? Buffer.concat([Buffer.from(`${text.length.toString(16)}\r\n`), text, Buffer.from("\r\n")])
      : text;
    return new Promise((resolve) => this.#socket.write(framed, () => resolve()));
  }

  /** Ends a body without a length. */
  end(): void {
    this.#socket.write("0\r\n\r\n");
  }

  /** Rejects if the connection is closed without one. */
  answer(): Promise<RawAnswer> {
    return this.#answer.promise;
  }

  /** Resolves when either side has closed the connection. */
  closed(): Promise<void> {
    return this.#closed.promise;
  }

  leave(): void {
    this.#socket.destroy();
  }

  #read(text: string): void {
    this.#received += text;
    const [head = "", body = ""] = this.#received.split("\r\n\r\n", 2);
    const length = Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN);
    if (!(body.length >= length)) return;
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
    this.#answer.resolve({ status, head, body: JSON.parse(body) });
  }
}
