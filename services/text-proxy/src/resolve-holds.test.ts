// Holds that nobody resolved in time: whatever the upstream says about them, the customer is never charged.
import { randomUUID } from "node:crypto";
import { ReleaseReason } from "@gr/clients";
import { HoldState } from "@gr/proto/billing";
import { freePort, until } from "@gr/testing";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, sendJson } from "./test/scripted-upstream.ts";

const PATIENCE = { timeoutMs: 60_000 };
const SOON = { RESOLVE_INTERVAL_MS: "100" };
let upstream: ScriptedUpstream;
let rig: Rig;
/** Ids that were looked up, in order. */
let asked: string[] = [];

beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url, SOON);
});
afterAll(async () => {
  await rig?.stop();
  await upstream?.stop();
});
beforeEach(() => {
  asked = [];
});

function answerLookUps(status: number, body: string): void {
  upstream.generations = (request, response) => {
    asked.push(request.path.split("id=")[1] ?? "");
    sendJson(response, body, status);
  };
}

/** A hold that was left behind, so many milliseconds past its deadline. */
function leaveHold(on: Rig, overdueMs: number): string {
  const id = randomUUID();
  on.billing.addOpenHold(id, Date.now() - overdueMs);
  return id;
}

test("what the upstream billed is our loss, exactly", async () => {
  answerLookUps(200, '{"data":{"total_cost":1e-7}}');
  const id = leaveHold(rig, 1);
  await until(() => rig.billing.state(id) === HoldState.RELEASED, PATIENCE);
  expect(asked).toEqual([id]);
  expect(rig.billing.of(id)).toMatchObject([
    { kind: "release", reason: ReleaseReason.FAILED, cost: 100_000n },
  ]);
});

test("what the upstream does not know is freed only after a second look-up", async () => {
  answerLookUps(404, '{"error":{"message":"not found"}}');
  const id = leaveHold(rig, 1);
  await until(() => asked.length === 1, PATIENCE);
  expect(rig.billing.state(id)).toBe(HoldState.OPEN);
  await until(() => rig.billing.state(id) === HoldState.RELEASED, PATIENCE);
  expect(asked).toEqual([id, id]);
  expect(rig.billing.of(id)).toMatchObject([{ kind: "release", reason: ReleaseReason.UNRESOLVED, cost: 0n }]);
});

test("what turns up at the second look-up is booked", async () => {
  let found = false;
  upstream.generations = (_, response) => {
    sendJson(response, found ? '{"data":{"total_cost":"0.5"}}' : "{}", found ? 200 : 404);
    found = true;
  };
  const id = leaveHold(rig, 1);
  await until(() => rig.billing.state(id) === HoldState.RELEASED, PATIENCE);
  expect(rig.billing.of(id)).toMatchObject([{ reason: ReleaseReason.FAILED, cost: 500_000_000_000n }]);
});

test.each([
  [500, "oops"],
  [200, "<html>"],
  [200, '{"data":{}}'],
  [200, '{"data":{"total_cost":-1}}'],
])("an upstream that answers %i %s leaves the hold open, but not for ever", async (status, body) => {
  answerLookUps(status, body);
  const recent = leaveHold(rig, 1);
  const ancient = leaveHold(rig, 3_700_000);
  await until(() => asked.includes(recent) && rig.billing.state(ancient) === HoldState.RELEASED, PATIENCE);
  expect(rig.billing.of(ancient)).toMatchObject([{ reason: ReleaseReason.UNRESOLVED }]);
  expect(rig.billing.state(recent)).toBe(HoldState.OPEN);
});

test("a hold is not touched before its deadline", async () => {
  answerLookUps(404, "{}");
  const early = leaveHold(rig, -60_000);
  const due = leaveHold(rig, 1);
  await until(() => rig.billing.state(due) === HoldState.RELEASED, PATIENCE);
  expect(asked).not.toContain(early);
  expect(rig.billing.state(early)).toBe(HoldState.OPEN);
});

test("an upstream that cannot be asked has its holds freed at their deadline", async () => {
  const openAi = await startRig(`http://127.0.0.1:${await freePort()}/v1`, {
    ...SOON,
    TEXT_UPSTREAM_KIND: "openai",
  });
  try {
    const id = leaveHold(openAi, 1);
    await until(() => openAi.billing.state(id) === HoldState.RELEASED, PATIENCE);
    expect(openAi.billing.of(id)).toMatchObject([{ reason: ReleaseReason.UNRESOLVED, cost: 0n }]);
  } finally {
    await openAi.stop();
  }
});
