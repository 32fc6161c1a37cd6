// Requests that no HTTP client would send: bytes over a socket, and what came back.
import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Sends the bytes and reads until the server closes or is quiet; answers in the order they came. */
export function sendRaw(baseUrl: string, bytes: string, quietMs = 150): Promise<RawAnswer[]> {
  const { hostname, port } = new URL(baseUrl);
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(Number(port), hostname, () => socket.write(bytes, "latin1"));
    const finish = () => {
      clearTimeout(quiet);
      socket.destroy();
      resolve(parseAnswers(received));
    };
    // The first answer may take long on a busy machine; after it, silence means that there is no second one.
    let quiet = setTimeout(finish, 5_000);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      clearTimeout(quiet);
      quiet = setTimeout(finish, quietMs);
    });
    socket.on("close", finish);
    socket.on("error", (error) => (received === "" ? reject(error) : finish()));
  });
}

function parseAnswers(received: string): RawAnswer[] {
  return received.split(/(?=HTTP\/1\.1 \d{3} )/).flatMap((text) => {
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
    const [head = "", body = ""] = text.split("\r\n\r\n", 2);
    return status === undefined ? [] : [{ status: Number(status), head, body }];
  });
}
