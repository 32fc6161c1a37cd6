// Guarantees of the simulator's errors: each provider's are answers that were captured, named by a header, and no route
// sends a status of 400 and more in another way.
import { readdirSync, readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CAPTURED_ANSWERS, capturedAnswer } from "./captured-answers.ts";
import { CAPTURED_AS, withValues } from "./request/send-captured.ts";
import { type RunningSimulator, startSimulator } from "./server.ts";

let simulator: RunningSimulator;
beforeAll(async () => {
  simulator = await startSimulator({ host: "127.0.0.1", port: 0, drawing: false });
});
afterAll(() => simulator.close());

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const google = (key: string) => ({ "x-goog-api-key": key });
const content = (text: string) => ({ contents: [{ role: "user", parts: [{ text }] }] });
const grok = (prompt: string) => ({
  ...{ model: "grok-imagine-image-2.0", prompt, aspect_ratio: "9:16", resolution: "1k", quality: "low" },
});

async function refused(path: string, headers: Record<string, string>, body: unknown) {
  const response = await fetch(simulator.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, name: response.headers.get(CAPTURED_AS), text };
}

describe("an error of the simulator", () => {
  test.each([
    ["/openai/v1/images/generations", bearer("invalid"), {}, "openai/bad-key"],
    ["/openai/v1/images/generations", bearer("k"), {}, "openai/invalid-parameter"],
    ["/openrouter/api/v1/images", bearer("invalid"), {}, "openrouter/bad-key"],
    ["/openrouter/api/v1/videos", {}, {}, "openrouter/no-key"],
    ["/gemini/v1beta/models/m:generateContent", google("invalid"), content("a"), "gemini/bad-key"],
    ["/xai/v1/images/generations", bearer("invalid"), {}, "xai/bad-key"],
    ["/xai/v1/images/generations", bearer("k"), {}, "xai/invalid-parameter"],
    ["/xai/v1/images/generations", bearer("k"), grok("#429"), "xai/overload"],
    ["/xai/v1/images/generations", bearer("k"), grok("#fail"), "xai/server-error"],
    ["/xai/v1/images/generations", bearer("k"), grok("#nsfw"), "xai/moderation-input"],
    ["/together/v1/images/generations", bearer("invalid"), {}, "together/bad-key"],
    ["/byteplus/api/v3/images/generations", bearer("invalid"), {}, "byteplus/bad-key"],
    ["/bfl/v1/flux-2-pro", { "x-key": "invalid" }, {}, "bfl/bad-key"],
    ["/bfl/v1/flux-2-pro", { "x-key": "k" }, {}, "bfl/invalid-parameter"],
    ["/fal/fal-ai/none", { authorization: "Key invalid" }, {}, "fal/bad-key"],
    ["/fal/fal-ai/none", { authorization: "Key k" }, {}, "fal/not-found"],
    ["/replicate/v1/models/a/b/predictions", bearer("invalid"), {}, "replicate/bad-key"],
    ["/runware/v1", bearer("invalid"), [], "runware/bad-key"],
  ])("at %s with %j and %j is %4$s", async (path, headers, body, name) => {
    const answer = await refused(path, headers, body);
    expect(answer.name).toBe(name);
    expect(answer.status).toBe(capturedAnswer(name).status);
    if (capturedAnswer(name).body === undefined) expect(answer.text).toBe("");
  });

  test("of xAI for a result that it refused says what it bills, and bills it", async () => {
    const headers = { ...bearer("k"), "x-request-id": "refused-result" };
    const answer = await refused("/xai/v1/images/generations", headers, grok("#nsfw-output"));
    expect(answer).toMatchObject({ status: 400, name: "xai/moderation-output-billed" });
    const { usage } = JSON.parse(answer.text) as { usage: { cost_in_usd_ticks: number } };
    const bill = (await (await fetch(`${simulator.url}/bill/refused-result`)).json()) as { pico_usd: string };
    expect(BigInt(usage.cost_in_usd_ticks) * 100n).toBe(BigInt(bill.pico_usd));
    expect(BigInt(bill.pico_usd)).toBeGreaterThan(0n);
  });

  test("is sent by no provider's routes but as it was captured", () => {
    const folders = new Set(CAPTURED_ANSWERS.map(({ name }) => name.split("/")[0] ?? ""));
    const source = new URL("./providers/", import.meta.url);
    const own = [...folders].flatMap((folder) =>
      readdirSync(new URL(`${folder}/`, source))
        .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
        .filter((file) =>
          /\.code\((4|5)\d\d\)/.test(readFileSync(new URL(`${folder}/${file}`, source), "utf8")),
        )
        .map((file) => `${folder}/${file}`),
    );
    // Answers of fal's queue about a running or ended job: states and no errors.
    expect(own).toEqual(["fal/routes.ts"]);
  });

  test("has other values, and no other members", () => {
    const body = { error: { message: "a", details: [{ loc: [] }] } };
    const changed = withValues(body, { "error.message": "b", "error.details.0.loc": ["c"], "error.code": 1 });
    expect(changed).toEqual({ error: { message: "b", details: [{ loc: ["c"] }] } });
    expect(body.error.message).toBe("a");
  });
});
