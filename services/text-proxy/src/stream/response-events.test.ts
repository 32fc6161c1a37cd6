// Streams of the Responses API with every existing type of event. Each event is sent on unchanged and in its place,
// and only the last ones decide about the money.
import { ReleaseReason } from "@gr/clients";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { payloadsOf } from "../test/read-stream.ts";
import { errorEvent, PART_TYPES, partEvent, STATE_TYPES, stateEvent } from "../test/response-events.ts";
import { idOf, type Rig, startRig } from "../test/rig.ts";
import { ScriptedUpstream, startStream } from "../test/scripted-upstream.ts";

const USAGE = '{"input_tokens":10,"output_tokens":2,"total_tokens":12,"cost":0.00123}';
const COST = 1_230_000_000n;
const CREATED = stateEvent("response.created", 0);

let upstream: ScriptedUpstream;
let rig: Rig;
beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
  rig = await startRig(upstream.url);
});
afterAll(async () => {
  await rig?.stop();
  await upstream?.stop();
});

async function pass(events: readonly string[]) {
  upstream.script((_, response) => {
    startStream(response);
    for (const event of events) response.write(event);
    response.end();
  });
  const response = await rig.post("responses", { model: "sandbox/chat", input: "hi", stream: true });
  return { text: await response.text(), last: rig.billing.callsOf(idOf(response)).at(-1) };
}

test("there are 58 types", () => {
  expect(new Set([...PART_TYPES, ...STATE_TYPES, "error"]).size).toBe(58);
});

test("a stream with all of them arrives as it was sent, and costs what its last event says", async () => {
  const events = [
    CREATED,
    stateEvent("response.queued", 1),
    stateEvent("response.in_progress", 2),
    ...PART_TYPES.map((type, index) => partEvent(type, index + 3)),
    stateEvent("response.completed", PART_TYPES.length + 3, USAGE),
  ];
  const { text, last } = await pass(events);
  expect(text).toBe(events.join(""));
  expect(last).toMatchObject({ kind: "capture", cost: COST, credits: 13n });
});

// In one write with the end, so that the event is checked beside events that matter.
test.each(PART_TYPES)(
  "%s arrives as it was sent, with an error of its own and fields that nobody knows",
  async (type) => {
    const more =
      ',"error":{"message":"of this call only"},"x_new":{"usage":{"cost":9},"type":"response.completed"}';
    const events = [CREATED + partEvent(type, 1, more) + stateEvent("response.completed", 2, USAGE)];
    const { text, last } = await pass(events);
    expect(text).toBe(events.join(""));
    expect(last).toMatchObject({ kind: "capture", cost: COST });
  },
);

describe("the last event", () => {
  test.each(["response.completed", "response.incomplete"] as const)("%s is charged", async (type) => {
    const { text, last } = await pass([CREATED, stateEvent(type, 1, USAGE)]);
    expect(text).toBe(CREATED + stateEvent(type, 1, USAGE));
    expect(last).toMatchObject({ kind: "capture", cost: COST });
  });

  test("response.failed is passed on and charged to nobody", async () => {
    const failed = stateEvent("response.failed", 1, USAGE);
    const { text, last } = await pass([CREATED, failed]);
    expect(text).toBe(CREATED + failed);
    expect(last).toMatchObject({ kind: "release", reason: ReleaseReason.FAILED, cost: COST });
  });

  test("error becomes a response.failed of ours", async () => {
    const { text, last } = await pass([CREATED, errorEvent(1)]);
    expect(text.startsWith(CREATED)).toBe(true);
    expect(payloadsOf(text).map(({ type }) => type)).toEqual(["response.created", "response.failed"]);
    expect(last?.kind).toBe("place");
  });

  test.each(["response.queued", "response.created", "response.in_progress"] as const)(
    "%s is no end",
    async (type) => {
      const { text, last } = await pass([stateEvent(type, 0)]);
      expect(payloadsOf(text).map((event) => event["type"])).toEqual([type, "response.failed"]);
      expect(last?.kind).toBe("place");
    },
  );
});
