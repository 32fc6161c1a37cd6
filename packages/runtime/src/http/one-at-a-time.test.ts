// Guarantees of answerOneAtATime: requests that are sent together on one connection are worked on in turn, and all are answered.
import { once } from "node:events";
import { connect } from "node:net";
import { expect, test } from "@jest/globals";
import { createLogger } from "../process/logger.ts";
import { closeHttpApp, createHttpApp } from "./http-app.ts";

test("requests sent together on one connection are worked on in turn, and all are answered", async () => {
  const app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "an-id" });
  let running = 0;
  let most = 0;
  app.get("/work", async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise(setImmediate);
    running -= 1;
    return { done: true };
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  const socket = connect(typeof address === "object" ? (address?.port ?? 0) : 0, "127.0.0.1");
  const request = "GET /work HTTP/1.1\r\nhost: x\r\n";
  socket.write(`${`${request}\r\n`.repeat(19)}${request}connection: close\r\n\r\n`);
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk;
  });
  await once(socket, "close");
  await closeHttpApp(app, 0);
  expect(text.split('{"done":true}')).toHaveLength(21);
  expect(most).toBe(1);
});
