// Guarantee against one client with prompts that always fail: image providers have no memory of failures, so the next
// client is served by the first route.
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { KEY_HEADER } from "./test/edge.ts";
import { drawPicture } from "./test/pictures.ts";
import {
  type FixedAnswer,
  type ScriptEntry,
  type ScriptedServer,
  startScriptedServer,
} from "./test/scripted-server.ts";
import { type MediaUnderTest, PATIENT, startMedia } from "./test/start-media.ts";

const OTHER = { [KEY_HEADER]: "5d9c3f1f-0f4a-4a51-9d5c-0b1f5f2e7fff" };
const FAILURES = 8;

let upstream: ScriptedServer;
let media: MediaUnderTest;
beforeEach(async () => {
  upstream = await startScriptedServer();
  media = await startMedia({ upstreamUrl: upstream.url, env: PATIENT });
});
afterEach(async () => {
  await media?.stop();
  await upstream?.close();
});

const error: FixedAnswer = { status: 500, body: { error: { message: "no", code: "x" } } };

test.each<[string, ScriptEntry]>([
  ["errors in the format of the provider", error],
  ["pages of a proxy", { status: 502, body: "<html>" }],
  ["refusals for being too busy", { status: 503, body: error.body ?? "" }],
  ["resets", (response) => void response.destroy()],
])("another caller is served after %s that one caller's prompts cause", async (_what, failure) => {
  const b64_json = (await drawPicture()).toString("base64");
  upstream.play((response, request) => {
    if (typeof failure === "function" && request.body.includes("fails")) return failure(response, request);
    const answer = request.body.includes("fails")
      ? (failure as FixedAnswer)
      : { status: 200, body: { data: [{ b64_json }] } };
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
  });
  for (let time = 0; time < FAILURES; time += 1) {
    const { status } = await media.generate({ model: "sandbox/image", prompt: "fails" });
    expect(status).toBeGreaterThanOrEqual(500);
  }
  const served = await media.generate({ model: "sandbox/image", prompt: "a fox" }, undefined, OTHER);
  expect(served.status).toBe(200);
});
