// Streams that still run at the end of their process's grace.
import type { ServerResponse } from "node:http";
import { until } from "@gr/testing";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { payloadsOf, StreamReader } from "./test/read-stream.ts";
import { chat, idOf, startRig } from "./test/rig.ts";
import { ScriptedUpstream, startStream } from "./test/scripted-upstream.ts";

let upstream: ScriptedUpstream;
beforeAll(async () => {
  upstream = await new ScriptedUpstream().start();
});
afterAll(() => upstream?.stop());

const CHUNK =
  'data: {"id":"gen-7","object":"chat.completion.chunk","created":5,"model":"m","choices":[{"index":0,"delta":{"content":"word"}}]}\n\n';
const DELTA =
  'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":1,"delta":"word"}\n\n';
const TOLD = { code: "service_unavailable", message: expect.stringContaining("nothing was charged") };

test.each([
  ["chat/completions", chat("sandbox/chat", "hi", { stream: true }), CHUNK, { error: TOLD }],
  [
    "responses",
    { model: "sandbox/chat", input: "hi", stream: true },
    DELTA,
    { type: "response.failed", response: { status: "failed", error: TOLD } },
  ],
] as const)(
  "an endless stream of %s ends with an error event when its process stops, and is free",
  async (path, body, event, expected) => {
    for (const kind of ["openrouter", "openai"]) {
      const rig = await startRig(upstream.url, { TEXT_UPSTREAM_KIND: kind, STOP_GRACE_MS: "1" });
      upstream.script((_, response: ServerResponse) => {
        startStream(response);
        response.write(event);
      });
      const response = await rig.post(path, body);
      const reader = new StreamReader(response);
      await until(() => reader.text.includes("word"), { timeoutMs: 60_000 });
      await rig.stop();
      await until(() => reader.done, { timeoutMs: 60_000 });
      expect(reader.text).not.toContain("BROKEN OFF");
      expect(payloadsOf(reader.text).at(-1)).toMatchObject(expected);
      expect(rig.billing.hold(idOf(response))).toMatchObject({ chargedCredits: 0n });
    }
  },
);
