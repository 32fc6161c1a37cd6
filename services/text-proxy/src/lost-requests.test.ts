// Requests with a lost outcome: a look-up queries their upstream by its route, and their customer never pays.
import { ReleaseReason } from "@gr/clients";
import { HoldState } from "@gr/proto/billing";
import { until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { chat, idOf, type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, sendJson } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
const SOON = { RESOLVE_INTERVAL_MS: "100" };
let upstream: ScriptedUpstream;
let rig: Rig;
/** Ids that were looked up. */
const asked = new Set<string>();

beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  upstream.script((_, response) => {
    response.destroy();
  });
  rig = await startRig(upstream.url, SOON);
});
afterAll(async () => {
  await rig?.stop();
  await upstream?.stop();
});
beforeEach(() => asked.clear());

function answerLookUps(status: number, body: string): void {
  upstream.generations = (request, response) => {
    asked.add(request.path.split("id=")[1] ?? "");
    sendJson(response, body, status);
  };
}

/** Sends a request that is never answered. */
async function lose(on: Rig): Promise<string> {
  return idOf(await on.post("chat/completions", chat("sandbox/chat", "hi")));
}

test("what the upstream billed is our loss, exactly", async () => {
  answerLookUps(200, '{"data":{"total_cost":1e-7}}');
  const id = await lose(rig);
  rig.billing.expire(id);
  await until(() => rig.billing.state(id) === HoldState.RELEASED, PATIENCE);
  expect([...asked]).toEqual([id]);
  expect(rig.billing.callsOf(id).at(-1)).toMatchObject({ reason: ReleaseReason.FAILED, cost: 100_000n });
});

test.each([
  [500, "oops"],
  [200, "<html>"],
  [200, '{"data":{}}'],
  [200, '{"data":{"total_cost":-1}}'],
  [200, '{"data":{"total_cost":9000000,"upstream_inference_cost":9000000,"is_byok":true}}'],
])("an upstream that answers %i %s has said nothing", async (status, body) => {
  answerLookUps(status, body);
  const id = await lose(rig);
  rig.billing.expire(id);
  await until(() => asked.has(id), PATIENCE);
  expect(rig.billing.state(id)).toBe(HoldState.OPEN);
});

test("of an upstream that cannot be asked are freed at their deadline", async () => {
  const openAi = await startRig(upstream.url, { ...SOON, TEXT_UPSTREAM_KIND: "openai" });
  try {
    const id = await lose(openAi);
    openAi.billing.expire(id);
    await until(() => openAi.billing.state(id) === HoldState.RELEASED, PATIENCE);
    expect(openAi.billing.callsOf(id).at(-1)).toMatchObject({ reason: ReleaseReason.UNRESOLVED, cost: 0n });
  } finally {
    await openAi.stop();
  }
});
