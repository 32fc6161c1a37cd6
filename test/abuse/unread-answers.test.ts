// No client that stops reading keeps its connection. Beyond a budget of waiting bytes the router closes connections at
// once, and all others after the stall time. The router's own metrics count both causes.
import { freePort, until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { AbuseRing, UNREAD } from "./ring.ts";

const READERS = 40;
/** Bytes that wait for a stalled reader of a long static answer: one piece. */
const PIECE = 64 * 1024;
const BUDGET = 16 * PIECE;
const STALL_MS = 5_000;
const PATIENCE = { timeoutMs: 60_000 };

let ring: AbuseRing;
let metricsUrl: string;
beforeAll(async () => {
  const port = await freePort();
  metricsUrl = `http://127.0.0.1:${port}/metrics`;
  ring = await AbuseRing.start({
    sharedPostgres: true,
    env: {
      SERVICE_HTTP_PORT: String(port),
      RATE_LIMIT_ANONYMOUS_PER_SECOND: "0",
      ANSWER_STALL_MS: String(STALL_MS),
      ANSWER_MAX_WAITING_BYTES: String(BUDGET),
    },
  });
});
afterAll(() => ring?.stop());

/** Returns the number of connections that the router has closed for a cause. */
async function cuts(cause: string): Promise<number> {
  const metrics = await (await fetch(metricsUrl)).text();
  return Number(new RegExp(`answers_cut_total\\{cause="${cause}"[^}]*\\} (\\d+)`).exec(metrics)?.[1]);
}

test("the router closes every connection whose reader has stopped, and serves the others", async () => {
  const target = ring.find("get /docs/scalar.js");
  await Promise.all(Array.from({ length: READERS }, () => ring.hold("nobody", target, UNREAD)));
  expect(await ring.attack("nobody", target, {})).toBe(200);
  await until(async () => {
    expect((await cuts("stalled")) + (await cuts("process_bytes"))).toBe(READERS);
    return true;
  }, PATIENCE);
  expect(await cuts("process_bytes")).toBeGreaterThan(0);
  expect(await ring.attack("nobody", target, {})).toBe(200);
});
