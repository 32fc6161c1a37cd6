// The client's bytes are sent upstream unchanged, except the model's name and the request for the usage.

import { guardJson } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { jsonObjectText } from "../test/json-text.ts";
import { readTextRequest } from "./text-request.ts";
import { upstreamBody } from "./upstream-body.ts";

const send = (text: string, upstreamModel = "m", api: "chat" | "responses" = "chat") =>
  upstreamBody(readTextRequest(api, Buffer.from(text)), upstreamModel).toString();
const MESSAGES = '"messages":[{"role":"user","content":"h\\u00e9"}]';

describe("the upstream's body", () => {
  test("is the client's, byte for byte, when there is nothing to change", () => {
    const text = `{ "model" : "m",\n${MESSAGES},"seed":1e2 }`;
    const request = readTextRequest("chat", Buffer.from(text));
    expect(upstreamBody(request, "m")).toBe(request.bytes);
    expect(send('{"model":"m","input":"hi","stream":true}', "m", "responses")).toBe(
      '{"model":"m","input":"hi","stream":true}',
    );
  });

  test.each([
    [`{ "model" : "m", ${MESSAGES} }`, `{ "model" : "vendor/x\\"1", ${MESSAGES} }`],
    [`{${MESSAGES},"\\u006dodel":"m"}`, `{${MESSAGES},"\\u006dodel":"vendor/x\\"1"}`],
  ])("has the model's name there: %s", (text, sent) => {
    expect(send(text, 'vendor/x"1')).toBe(sent);
  });

  test.each([
    ['"stream":true', '"stream":true,"stream_options":{"include_usage":true}'],
    ['"stream":true,"stream_options":null', '"stream":true,"stream_options":{"include_usage":true}'],
    ['"stream":true,"stream_options":{ }', '"stream":true,"stream_options":{ "include_usage":true}'],
    [
      '"stream":true,"stream_options":{"include_obfuscation":false}',
      '"stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true}',
    ],
    [
      '"stream":true,"stream_options":{"include_usage":false}',
      '"stream":true,"stream_options":{"include_usage":true}',
    ],
    [
      '"stream":true,"stream_options":{"include_usage":true}',
      '"stream":true,"stream_options":{"include_usage":true}',
    ],
    ['"stream":false', '"stream":false'],
  ])("asks for the usage of a stream: %s", (fields, sent) => {
    expect(send(`{"model":"m",${MESSAGES},${fields}}`).replace(" }", "}")).toBe(
      `{"model":"m",${MESSAGES},${sent}}`.replace(" }", "}"),
    );
  });

  test.each([
    ["max_tokens", "", ""],
    ["max_tokens", '"max_tokens":null,', '"max_tokens":512,'],
    ["max_completion_tokens", "", ""],
  ])("has the limit that is added as %s: %s", (field, fields, replaced) => {
    const request = readTextRequest("chat", Buffer.from(`{${fields}"model":"m",${MESSAGES}}`));
    const added = replaced === "" ? `,"${field}":512` : "";
    expect(upstreamBody(request, "m", { field, tokens: 512n }).toString()).toBe(
      `{${replaced}"model":"m",${MESSAGES}${added}}`,
    );
  });

  test("has a lower limit in each field in which the client stated one, and in no other", () => {
    const limits = '"max_completion_tokens":9000,"max_tokens":8000';
    const request = readTextRequest("chat", Buffer.from(`{"model":"m",${MESSAGES},${limits}}`));
    expect(upstreamBody(request, "m", { field: "max_tokens", tokens: 600n }).toString()).toBe(
      `{"model":"m",${MESSAGES},"max_completion_tokens":600,"max_tokens":600}`,
    );
    const other = readTextRequest("chat", Buffer.from(`{"model":"m",${MESSAGES},"max_tokens":8000}`));
    expect(upstreamBody(other, "m", { field: "max_completion_tokens", tokens: 600n }).toString()).toBe(
      `{"model":"m",${MESSAGES},"max_tokens":600}`,
    );
  });

  test("has limit and wish for the usage both", () => {
    const request = readTextRequest("chat", Buffer.from(`{"model":"m",${MESSAGES},"stream":true}`));
    expect(JSON.parse(upstreamBody(request, "x", { field: "max_tokens", tokens: 600n }).toString())).toEqual({
      model: "x",
      messages: [{ role: "user", content: "hé" }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 600,
    });
  });

  test("keeps every other member of any body", () => {
    fc.assert(
      fc.property(jsonObjectText(["temperature", "tools", "seed"]), (rest) => {
        const extra = JSON.parse(rest) as Record<string, unknown>;
        const inner = rest.trim().slice(1, -1);
        fc.pre(!Object.keys(extra).some((name) => reserved.has(name.toLowerCase())));
        fc.pre(!hasRepeatedMembers(rest));
        const text = `{"model":"m",${MESSAGES},"stream":true${inner.trim() === "" ? "" : `,${inner}`}}`;
        expect(JSON.parse(send(text, "other"))).toEqual({
          ...JSON.parse(text),
          model: "other",
          stream_options: { include_usage: true },
        });
      }),
    );
  });
});

/** Which no request has. */
function hasRepeatedMembers(text: string): boolean {
  try {
    guardJson(Buffer.from(text));
    return false;
  } catch {
    return true;
  }
}

/** Fields that change a request, or cause its refusal. */
const reserved = new Set([
  "model",
  "messages",
  "input",
  "stream",
  "stream_options",
  "models",
  "n",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "background",
  "prediction",
  "tools",
  "plugins",
  "web_search_options",
  "previous_response_id",
  "conversation",
  "prompt",
  "logprobs",
  "top_logprobs",
  "include",
]);
