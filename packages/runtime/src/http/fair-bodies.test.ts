// Guarantees of long bodies of several accounts: no account delays another's body by its own. The budget is checked for
// the possible size of a body before it arrives.
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { ByteBudget } from "../bodies/byte-budget.ts";
import { createLogger } from "../process/logger.ts";
import { closeHttpApp, createHttpApp } from "./http-app.ts";
import { anyone, registerRest, restRoute } from "./rest-api.ts";

const MB = 1024 * 1024;
const LIMIT = 2 * MB;

let app: FastifyInstance;
let handled: string[];
let budget: ByteBudget;
beforeEach(async () => {
  handled = [];
  budget = new ByteBudget(100 * MB);
  app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "id" });
  const route = restRoute({
    method: "POST",
    path: "/",
    access: anyone,
    summary: "Take a body",
    body: z.unknown(),
    bodyLimit: LIMIT,
    responses: { 200: { description: "Taken" } },
    handle: async ({ http }) => {
      handled.push(accountOf(http));
      return {};
    },
  });
  await registerRest(app, {
    routes: [route],
    bodies: { freeBytes: LIMIT, admit: async () => undefined, budget, ownerOf: accountOf },
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
});
afterEach(() => closeHttpApp(app, 0));

const accountOf = ({ headers }: { headers: Record<string, unknown> }) => String(headers["x-account"]);
/** JSON of the kind with the longest parse time. */
const LONG = `[${Array.from({ length: 45_000 }, () => `{"a":1}`).join()}]`;

function post(account: string, headers: string, body: string): { socket: Socket; answer: Promise<string> } {
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  const head = `POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\nx-account: ${account}`;
  socket.write(`${head}\r\n${headers}\r\n\r\n${body}`);
  const answer = new Promise<string>((resolve, reject) => {
    let text = "";
    socket.on("data", (data) => {
      text += data.toString();
    });
    socket.once("close", () => resolve(text));
    socket.once("error", reject);
  });
  return { socket, answer };
}
const long = (account: string) => post(account, `content-length: ${LONG.length}`, LONG);

test("an account with many long bodies does not delay another's", async () => {
  const flood = Array.from({ length: 20 }, () => long("a"));
  // One of them is through, so all have begun.
  await Promise.race(flood.map(({ answer }) => answer));
  const before = handled.length;
  await long("b").answer;
  expect(handled).toContain("b");
  expect(handled.indexOf("b")).toBeLessThan(before + 8);
  await Promise.all(flood.map(({ answer }) => answer));
  expect(handled).toHaveLength(21);
});

test("a body whose client has left is not worked on, and others are", async () => {
  const flood = Array.from({ length: 10 }, () => long("a"));
  await Promise.race(flood.map(({ answer }) => answer));
  for (const { socket } of flood) socket.destroy();
  expect(await long("a").answer).toMatch(/^HTTP\/1.1 200/);
  expect(handled.length).toBeLessThan(11);
});

test("a body without a length counts as the largest that the route allows", async () => {
  budget.change("others", 100 * MB - 2 * LIMIT);
  const chunked = await post("a", "transfer-encoding: chunked", "2\r\n{}\r\n0\r\n\r\n").answer;
  expect(chunked).toMatch(/^HTTP\/1.1 200/);
  budget.change("others", LIMIT + 1);
  const refused = await post("a", "transfer-encoding: chunked", "2\r\n{}\r\n0\r\n\r\n").answer;
  expect(refused).toMatch(/^HTTP\/1.1 503/);
});
