// Raw HTTP sends requests that no HTTP client would send: bytes over a socket, and returns the received bytes.
import { connect } from "node:net";

export interface RawAnswer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** Longest wait, about the limit of a test. A longer wait on a slow machine has no better result. */
const PATIENCE_MS = 120_000;

/** Sends the bytes and reads until the server closes or is quiet after a whole answer; answers in order of arrival. */
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
    // An answer may need long on a busy machine, also between its parts; after it, silence means that it was the last.
    let quiet = setTimeout(finish, PATIENCE_MS);
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (!endsWithAnswer(received)) return;
      clearTimeout(quiet);
      quiet = setTimeout(finish, quietMs);
    });
    socket.on("close", finish);
    socket.on("error", (error) => (received === "" ? reject(error) : finish()));
  });
}

/** Returns true if the received text ends with a whole answer that is not a provisional one. */
function endsWithAnswer(received: string): boolean {
  const last = received.slice(Math.max(received.lastIndexOf("HTTP/1.1 "), 0));
  const headEnd = last.indexOf("\r\n\r\n");
  if (headEnd === -1 || last.startsWith("HTTP/1.1 1")) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(last.slice(0, headEnd))?.[1];
  return length === undefined ? last.endsWith("0\r\n\r\n") : last.length >= headEnd + 4 + Number(length);
}

function parseAnswers(received: string): RawAnswer[] {
  return received.split(/(?=HTTP\/1\.1 \d{3} )/).flatMap((text) => {
    const status = /^HTTP\/1\.1 (\d{3}) /.exec(text)?.[1];
    const [head = "", body = ""] = text.split("\r\n\r\n", 2);
    return status === undefined ? [] : [{ status: Number(status), head, body }];
  });
}
