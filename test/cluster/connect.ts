// This program tries to connect to each `address:port` of its arguments, and prints the reached ones as a JSON list.
import { connect } from "node:net";

const TIMEOUT_MS = 10_000;

const opened = await Promise.all(
  process.argv.slice(2).map((target) => {
    const [host = "", port] = target.split(":");
    return new Promise<readonly string[]>((resolve) => {
      const socket = connect({ host, port: Number(port), timeout: TIMEOUT_MS });
      const end = (answer: readonly string[]) => {
        socket.destroy();
        resolve(answer);
      };
      socket.once("connect", () => end([target]));
      socket.once("timeout", () => end([]));
      socket.once("error", () => end([]));
    });
  }),
);
process.stdout.write(JSON.stringify(opened.flat()));
