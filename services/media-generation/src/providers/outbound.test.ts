// A provider's JSON has the bounds of a client's, and a long answer is read as one that is short.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createOutbound, type Outbound } from "./outbound.ts";

let server: Server;
let outbound: Outbound;
let answer: string | Buffer;
beforeAll(async () => {
  server = createServer((_, response) => response.end(answer));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  outbound = createOutbound();
});
afterAll(async () => {
  await outbound.close();
  await new Promise((resolve) => server.close(resolve));
});

async function jsonOf(body: string | Buffer): Promise<unknown> {
  answer = body;
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const signal = AbortSignal.timeout(60_000);
  return (await outbound.send({ method: "GET", url, headers: {}, signal })).json();
}

test("pictures in base64 are read, whatever their length", async () => {
  for (const length of [100, 3_000_000]) {
    const value = { data: [{ b64_json: "A".repeat(length) }] };
    expect(await jsonOf(` ${JSON.stringify(value)}`)).toEqual(value);
  }
});

test.each([20_000, 1_000_000])("an answer of %i arrays within each other is no JSON", async (levels) => {
  expect(await jsonOf("[".repeat(levels) + "]".repeat(levels))).toBeUndefined();
});

test("a long answer that is no JSON has none", async () => {
  expect(await jsonOf(Buffer.alloc(1_000_000, 0x89))).toBeUndefined();
  expect(await jsonOf(`{"a":"${"x".repeat(300_000)}`)).toBeUndefined();
});
