// The memory of a text proxy in a container of deploy/base: no number of long chats ends the process.
import { fileURLToPath } from "node:url";
import { type LimitedProcess, startLimited } from "@gr/testing/limited-process";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { chat } from "./test/rig.ts";
import { ScriptedUpstream, sendJson } from "./test/scripted-upstream.ts";

const MIB = 1024 * 1024;
const LIMIT = 768 * MIB;
const ENTRY = fileURLToPath(new URL("./test/limited-text-proxy.ts", import.meta.url));
const CHATS = 24;
const LENGTH = 19 * MIB;
const WHOLE =
  '{"id":"gen-1","choices":[{"message":{"content":"a"}}],"usage":{"prompt_tokens":1,"completion_tokens":2,"cost":0.00123}}';

let upstream: ScriptedUpstream;
let limited: LimitedProcess;
beforeEach(async () => {
  upstream = await new ScriptedUpstream().start();
  const env = { LIMITED_UPSTREAM: upstream.url };
  limited = await startLimited({ file: ENTRY, env, limitBytes: LIMIT });
});
afterEach(async () => {
  await limited?.stop();
  await upstream?.stop();
});

const post = (body: string) =>
  fetch(`${limited.url}/v1/compat/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  }).then(
    async (answer) => {
      await answer.arrayBuffer();
      return answer.status;
    },
    // Refused while it was sent.
    () => 0,
  );

/** One text, many values, and text with escapes in JSON. */
const shapes: Record<string, string> = {
  "one text": JSON.stringify(chat("free/chat", "lorem ".repeat(LENGTH / 6))),
  "text beyond ASCII": JSON.stringify(chat("free/chat", "é😀".repeat(LENGTH / 6))),
  "many values": JSON.stringify(
    chat("free/chat", "hi", { metadata: Array.from({ length: 45_000 }, () => ({ a: "x".repeat(400) })) }),
  ),
};

test.each(Object.entries(shapes))(
  "24 chats of 19 MB, sent twice by one key, end no process: %s",
  async (_, body) => {
    // Requests at the upstream hold their bodies while the others arrive.
    upstream.script(async (_request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 3_000));
      sendJson(response, WHOLE);
    });
    for (let round = 0; round < 2; round += 1) {
      const statuses = await Promise.all(Array.from({ length: CHATS }, () => post(body)));
      expect(limited.alive()).toBe(true);
      expect(statuses).toContain(200);
      expect(statuses.filter((status) => ![0, 200, 429, 503].includes(status))).toEqual([]);
    }
    expect(await post(JSON.stringify(chat("free/chat", "hi")))).toBe(200);
    // For machines without a control group that enforces it.
    expect(limited.peak()).toBeLessThan(LIMIT);
  },
);
