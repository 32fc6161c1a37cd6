// A provider's JSON has the bounds of a client's, and a long answer is read as one that is short.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { createOutbound, type Outbound } from "./outbound.ts";

let server: Server;
let outbound: Outbound;
let answer: string | Buffer;
beforeAll(async () => {
  server = createServer(({ url }, response) => {
    if (url === "/events") response.setHeader("content-type", "text/event-stream");
    response.end(answer);
  });
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

test("an answer of events is read event by event, whatever their length and wherever they are cut", async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/events`;
  const events = [{ a: 1 }, { b64_json: "A".repeat(3_000_000) }, { last: true }, { beyond: true }];
  answer = `: comment\n\n${events.map((event) => `event: x\r\ndata: ${JSON.stringify(event)}\r\n\r\n`).join("")}`;
  const read: unknown[] = [];
  const signal = AbortSignal.timeout(60_000);
  const { status, bytes } = await outbound.send(
    { method: "POST", url, headers: {}, signal },
    async (event) => {
      read.push(event);
      return read.length < 3;
    },
  );
  expect([status, bytes.length]).toEqual([200, 0]);
  expect(read).toEqual(events.slice(0, 3));
});
