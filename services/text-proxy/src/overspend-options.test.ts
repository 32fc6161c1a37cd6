// A key with a limit and a stream with every option that adds bytes to its events. The delivered value is at
// most the limit and one slice, and the charge is at most the limit.
import type { ServerResponse } from "node:http";
import { chargeOf } from "@gr/money";
import { until } from "@gr/testing";
import { byDepth } from "@gr/testing/depth";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { principal } from "./test/front-door.ts";
import { idOf, type Rig, startRig } from "./test/rig.ts";
import { ScriptedUpstream, startStream } from "./test/scripted-upstream.ts";

/** 0.25 and 1 USD. The smallest is six slices, so the hold grows several times. */
const CAP = byDepth({ quick: 2_500n, deep: 10_000n });
/** Price of long/chat for one output token. */
const TOKEN_PICO = 75_000_000n;
const SLICE_TOKENS = 512n;
/** As in English: the upstream generates and bills a token for each four bytes. */
const TOKEN = "word";

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

const likely = (count: number) =>
  Array.from({ length: count }, () => ({
    ...{ token: TOKEN, logprob: -0.25, bytes: [...Buffer.from(TOKEN)] },
    top_logprobs: Array.from({ length: 20 }, () => ({
      token: TOKEN,
      logprob: -1,
      bytes: [...Buffer.from(TOKEN)],
    })),
  }));

/**
 * Returns an event with this number of tokens, in each API's form. @param full with all requested
 * options, which some servers omit
 */
const events = {
  "chat/completions": (tokens: number, full: boolean) => {
    const choice = {
      ...{ index: 0, delta: { content: TOKEN.repeat(tokens) }, finish_reason: null },
      logprobs: full ? { content: likely(tokens) } : null,
    };
    const chunk = {
      id: "gen-1",
      choices: [choice],
      usage: null,
      ...(full ? { obfuscation: "x".repeat(200) } : {}),
      service_tier: "default",
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  },
  responses: (tokens: number) => {
    const type = "response.output_text.delta";
    const payload = {
      type,
      item_id: "i",
      delta: TOKEN.repeat(tokens),
      logprobs: likely(tokens),
      obfuscation: "xx",
    };
    return `event: ${type}\ndata: ${JSON.stringify(payload)}\n\n`;
  },
} as const;

const options = {
  "chat/completions": {
    ...{
      messages: [{ role: "user", content: "hi" }],
      n: 2,
      logprobs: true,
      top_logprobs: 20,
      verbosity: "high",
    },
    ...{ stream_options: { include_usage: true, include_obfuscation: true }, tools: [{ type: "function" }] },
  },
  responses: {
    ...{
      input: "hi",
      include: ["message.output_text.logprobs"],
      top_logprobs: 20,
      text: { verbosity: "high" },
    },
    ...{
      stream_options: { include_obfuscation: true },
      tools: [{ type: "function", name: "f", parameters: {} }],
    },
  },
} as const;

/** Writes until the reader has had enough. */
async function pour(response: ServerResponse, event: string): Promise<void> {
  while (!response.destroyed) {
    if (response.write(event)) await new Promise((resolve) => setImmediate(resolve));
    else await new Promise((resolve) => response.once("drain", resolve).once("close", resolve));
  }
}

const TOKENS = byDepth({ quick: [1, 250], deep: [1, 40, 250] });
const cases = (["chat/completions", "responses"] as const).flatMap((path) =>
  TOKENS.flatMap((tokens) =>
    byDepth({ quick: [true], deep: [true, false] }).map((full) => [path, tokens, full] as const),
  ),
);

test.each(cases)(
  "%s with %i tokens in each event, with all that was asked for: %s",
  async (path, tokens, full) => {
    const before = rig.billing.charged;
    rig.billing.cap(principal.accountId, principal.keyId, before + CAP);
    upstream.script((_, response) => {
      startStream(response);
      return pour(response, events[path](tokens, full));
    });
    const response = await rig.post(path, { model: "long/chat", stream: true, ...options[path] });
    const text = await response.text();
    await until(() => rig.billing.openHolds.length === 0, { timeoutMs: 60_000 });
    const delivered =
      BigInt(
        text.split(path === "responses" ? '"type":"response.output_text.delta"' : '"delta":{"content":"word')
          .length - 1,
      ) * BigInt(tokens);
    expect(delivered).toBeGreaterThan(0n);
    expect(text).toMatch(/spend_limit_exceeded|in_flight/);
    expect(chargeOf(delivered * TOKEN_PICO)).toBeLessThanOrEqual(CAP + chargeOf(SLICE_TOKENS * TOKEN_PICO));
    expect(rig.billing.charged - before).toBeLessThanOrEqual(CAP);
    expect(rig.billing.callsOf(idOf(response)).at(-1)).toMatchObject({ kind: "capture" });
  },
);
