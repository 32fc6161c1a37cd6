// A key with a limit of 0.01 USD and requests without an output limit, alone and many at the same time, against the
// simulator. The charge is at most the limit. The value delivered above it is less than the first hold of each stream.
import { chargeOf } from "@gr/money";
import { HoldState } from "@gr/proto/billing";
import { startSimulator } from "@gr/simulator";
import { until } from "@gr/testing";
import { afterEach, expect, test } from "@jest/globals";
import { principal } from "./test/front-door.ts";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";

const CAP = 100n;
/** 512 tokens of sandbox/chat. */
const SLICE_CREDITS = 8n;
const PATIENCE = { timeoutMs: 60_000 };
const started: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(started.splice(0).map((each) => each.close()));
});

async function start(): Promise<{ rig: Rig; billed: () => Promise<bigint> }> {
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0, tokenDelayMs: 1 });
  const rig = await startRig(`${simulator.url}/openrouter/api/v1`);
  started.push({ close: () => rig.stop() }, simulator);
  const billed = async () => {
    const bill = (await (await fetch(`${simulator.url}/bill`)).json()) as { total_pico_usd: string };
    return BigInt(bill.total_pico_usd);
  };
  return { rig, billed };
}

test.each([
  [1, false],
  [1, true],
  [60, false],
  [60, true],
])("%i at once, streams: %s", async (requests, stream) => {
  const { rig, billed } = await start();
  rig.billing.cap(principal.accountId, principal.keyId, CAP);
  const body = chat("sandbox/chat", "#tokens=16000", { stream });
  const answers = await Promise.all(
    Array.from({ length: requests }, async () => {
      const response = await rig.post("chat/completions", body);
      const text = await response.text();
      return { id: idOf(response), status: response.status, text };
    }),
  );
  await until(() => rig.billing.openHolds.length === 0, PATIENCE);
  const begun = answers.filter(({ status }) => status === 200);
  expect(begun.length).toBeGreaterThan(0);
  expect(answers.filter(({ status }) => status !== 200 && status !== 402)).toEqual([]);
  for (const { id, text } of begun) {
    expect(rig.billing.state(id)).toBe(HoldState.CAPTURED);
    // No request received its whole answer, and each received the reason.
    expect(text).toMatch(stream ? /"code":"(spend_limit_exceeded|in_flight)"/ : /"finish_reason":"length"/);
  }
  expect(rig.billing.charged).toBeLessThanOrEqual(CAP);
  const costs = rig.billing.calls.reduce((sum, { cost }) => sum + cost, 0n);
  expect(costs).toBe(await billed());
  const excess = stream ? SLICE_CREDITS * BigInt(begun.length) : 0n;
  expect(chargeOf(costs)).toBeLessThanOrEqual(CAP + excess);
});
