// Places of running requests: slow requests of one account do not occupy all of them.
import { until } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { CALLER_HEADER } from "./test/front-door.ts";
import { chat, startRig } from "./test/rig.ts";
import { type Script, ScriptedUpstream, sendJson } from "./test/scripted-upstream.ts";

const PLACES = 8;
const callers = ["a", "b"].map(
  (letter) => `0190c0de-0000-7000-8000-00000000000${letter}/0190c0de-0000-7000-8000-0000000000f${letter}`,
);
const SLOW = "a slow prompt";
const ANSWER =
  '{"id":"x","choices":[{"message":{"content":"ok"}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}';

test("slow requests of one account are answered 429 before they have all places, and another account's run", async () => {
  const released = Promise.withResolvers<void>();
  const script: Script = async (request, response) => {
    if (request.body.includes(SLOW)) await released.promise;
    sendJson(response, ANSWER);
  };
  const upstream = await new ScriptedUpstream().start();
  upstream.script(script);
  const rig = await startRig(upstream.url, { TEXT_MAX_RUNNING: String(PLACES) });
  const [attacker, victim] = callers;
  const ask = (caller: string | undefined, prompt: string) =>
    rig.post("chat/completions", chat("sandbox/chat", prompt, { max_tokens: 5 }), {
      headers: { [CALLER_HEADER]: caller ?? "" },
    });
  try {
    const refused: Response[] = [];
    const sent = Array.from({ length: PLACES }, async () => {
      const response = await ask(attacker, SLOW);
      if (response.status !== 200) refused.push(response);
      return response.status;
    });
    await until(() => refused.length > 0, { timeoutMs: 60_000 });
    expect(refused[0]?.status).toBe(429);
    expect(refused[0]?.headers.get("retry-after")).toBe("1");
    expect(await refused[0]?.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
    expect((await ask(victim, "a quick prompt")).status).toBe(200);
    released.resolve();
    expect((await Promise.all(sent)).sort()).toEqual([...Array(6).fill(200), 429, 429]);
  } finally {
    released.resolve();
    await rig.stop();
    await upstream.stop();
  }
});
