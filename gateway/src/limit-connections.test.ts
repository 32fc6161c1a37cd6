// Connections of one address: so many and no more, until one is closed; private addresses are not counted.
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { expect, test } from "@jest/globals";
import { isPublicAddress, limitConnections } from "./limit-connections.ts";

test.each([
  ["8.8.8.8", true],
  ["2001:4860:4860::8888", true],
  ["::ffff:8.8.8.8", true],
  ["127.0.0.1", false],
  ["::ffff:127.0.0.1", false],
  ["::1", false],
  ["10.1.2.3", false],
  ["::ffff:192.168.0.7", false],
  ["100.64.0.1", false],
  ["fd00::1", false],
  ["fe80::1", false],
])("%s is public: %s", (address, expected) => {
  expect(isPublicAddress(address)).toBe(expected);
});

test("an address has its connections and no more, until one of them is closed", async () => {
  let refusals = 0;
  const server = createServer((_request, response) => response.end("served"));
  limitConnections(server, { most: 2, isCounted: () => true, refused: () => (refusals += 1) });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const sockets: Socket[] = [];
  /** What a connection is answered. */
  const ask = (): Promise<string> => {
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    sockets.push(socket);
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    return new Promise((resolve) => {
      socket.once("data", (answer) => resolve(answer.toString()));
      socket.once("close", () => resolve("closed"));
    });
  };
  expect(await ask()).toContain("served");
  expect(await ask()).toContain("served");
  expect(await ask()).toBe("closed");
  expect(refusals).toBe(1);
  sockets[0]?.destroy();
  // The server hears of that a moment later.
  while ((await ask()) === "closed");
  for (const socket of sockets) socket.destroy();
  server.close();
  await once(server, "close");
});
