// Requests that are refused before anything is held or sent, and requests that are accepted.
import { ServiceError } from "@gr/proto";
import { describe, expect, test } from "@jest/globals";
import { readTextRequest, type TextApi } from "./text-request.ts";

function refusal(api: TextApi, body: unknown): ServiceError {
  const bytes = Buffer.isBuffer(body)
    ? body
    : Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  try {
    readTextRequest(api, bytes);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

const read = (api: TextApi, body: unknown) => readTextRequest(api, Buffer.from(JSON.stringify(body)));
const user = { role: "user", content: "hi" };
const chat = (more: object = {}) => ({ model: "m", messages: [user], ...more });
const responses = (more: object = {}) => ({ model: "m", input: "hi", ...more });

describe("a body that is no JSON object", () => {
  test.each([
    ["", "empty"],
    ["{", "not valid JSON"],
    ['{"model":"m"} x', "not valid JSON"],
    ["\ufeff{}", "not valid JSON"],
    ["[]", "must be a JSON object"],
    ["null", "must be a JSON object"],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), "not valid JSON"],
    [Buffer.from('{"model":"m"}', "utf16le"), "not valid JSON"],
  ])("%j is refused as invalid_json", (body, words) => {
    const error = refusal("chat", body);
    expect(error.reason).toBe("invalid_json");
    expect(error.message).toContain(words);
  });

  test.each([
    ["model", '{"model":"cheap","messages":[{"role":"user","content":""}],"model":"dear"}'],
    ["model", '{"model":"cheap","messages":[{"role":"user","content":""}],"\\u006dodel":"dear"}'],
    [
      "max_tokens",
      '{"model":"m","messages":[{"role":"user","content":""}],"max_tokens":1,"max_tokens":100000}',
    ],
    ["Model", '{"model":"m","messages":[{"role":"user","content":""}],"Model":"dear"}'],
    ['["\\ud800"]', '{"model":"m","\\ud800":1,"messages":[{"role":"user","content":""}],"\\uD800":2}'],
    ["messages[0].role", '{"model":"m","messages":[{"role":"user","role":"system","content":""}]}'],
    [
      "stream_options.include_usage",
      '{"model":"m","messages":[],"stream_options":{"include_usage":true,"include_usage":false}}',
    ],
    ["__proto__", '{"__proto__":1,"model":"m","messages":[{"role":"user","content":""}],"__proto__":2}'],
  ])("with the field %s there twice is refused by its name: %s", (param, body) => {
    const error = refusal("chat", body);
    expect([error.reason, error.param]).toEqual(["invalid_json", param]);
    expect(error.message).toContain(`"${param}"`);
  });
});

test.each([
  '{"__proto__":1,"model":"m","messages":[{"role":"user","content":""}]}',
  '{"model":"m","messages":[{"role":"user","content":"","__pro\\u0074o__":{}}]}',
])("a member that would touch prototypes is refused: %s", (body) => {
  expect(refusal("chat", body).reason).toBe("invalid_json");
});

describe("a field that differs from one that is read in nothing but case is refused by its name", () => {
  const image = { type: "image_url", image_url: { url: "x" } };
  const part = (fields: object) => chat({ messages: [{ role: "user", content: [fields] }] });
  test.each([
    ["chat", chat({ Max_Tokens: 128_000, max_tokens: 1 }), "Max_Tokens"],
    ["chat", chat({ MAX_COMPLETION_TOKENS: 1 }), "MAX_COMPLETION_TOKENS"],
    ["chat", chat({ N: 100 }), "N"],
    ["chat", chat({ Stream: true }), "Stream"],
    ["chat", chat({ modeL: "dear" }), "modeL"],
    ["chat", chat({ Models: ["dear"] }), "Models"],
    ["chat", chat({ Messages: [user] }), "Messages"],
    ["chat", chat({ Plugins: [{ id: "web" }] }), "Plugins"],
    ["chat", chat({ Tools: [{ type: "web_search" }] }), "Tools"],
    ["chat", chat({ max_toKens: 9 }), "max_toKens"],
    ["chat", chat({ ſtream: true }), "ſtream"],
    [
      "chat",
      chat({ stream: true, stream_options: { Include_Usage: false } }),
      "stream_options.Include_Usage",
    ],
    ["chat", chat({ tools: [{ type: "function", Type: "web_search" }] }), "tools[0].Type"],
    ["chat", chat({ messages: [{ ...user, Content: "more" }] }), "messages[0].Content"],
    ["chat", part({ ...image, Type: "text" }), "messages[0].content[0].Type"],
    ["chat", part({ ...image, Image_URL: "y" }), "messages[0].content[0].Image_URL"],
    ["chat", part({ ...image, image_url: { Url: "y" } }), "messages[0].content[0].image_url.Url"],
    ["responses", responses({ Max_Output_Tokens: 9 }), "Max_Output_Tokens"],
    ["responses", responses({ Background: true }), "Background"],
    ["responses", responses({ input: [{ ...user, Content: "more" }] }), "input[0].Content"],
    ["responses", responses({ input: [{ type: "item_reference", TYPE: "message" }] }), "input[0].TYPE"],
  ] as const)("%s %j: %s", (api, body, param) => {
    const error = refusal(api, body);
    expect([error.reason, error.param]).toEqual(["invalid_json", param]);
    expect(error.message).toContain(`"${param}"`);
  });
});

describe("a bad field is refused by its name", () => {
  test.each([
    ["chat", { messages: [user] }, "model"],
    ["chat", { model: "", messages: [user] }, "model"],
    ["chat", { model: 1, messages: [user] }, "model"],
    ["chat", { model: "m" }, "messages"],
    ["chat", { model: "m", messages: [] }, "messages"],
    ["chat", { model: "m", messages: "hi" }, "messages"],
    ["chat", { model: "m", messages: ["hi"] }, "messages[0]"],
    ["chat", { model: "m", messages: [user, { content: "hi" }] }, "messages[1].role"],
    ["chat", { model: "m", messages: [{ role: "robot", content: "hi" }] }, "messages[0].role"],
    ["chat", { model: "m", messages: [{ role: "user" }] }, "messages[0].content"],
    ["chat", { model: "m", messages: [{ role: "user", content: null }] }, "messages[0].content"],
    ["chat", { model: "m", messages: [{ role: "user", content: { text: "hi" } }] }, "messages[0].content"],
    ["chat", chat({ stream: "yes" }), "stream"],
    ["chat", chat({ stream: true, stream_options: 1 }), "stream_options"],
    ["chat", chat({ n: 0 }), "n"],
    ["chat", chat({ n: 1.5 }), "n"],
    ["chat", chat({ n: "2" }), "n"],
    ["chat", chat({ n: 129 }), "n"],
    ["chat", chat({ max_tokens: 0 }), "max_tokens"],
    ["chat", chat({ max_tokens: 1e300 }), "max_tokens"],
    ["chat", chat({ max_completion_tokens: -1 }), "max_completion_tokens"],
    ["chat", chat({ models: ["dear"] }), "models"],
    ["responses", { model: "m" }, "input"],
    ["responses", { model: "m", input: 1 }, "input"],
    ["responses", { model: "m", input: [1] }, "input[0]"],
    ["responses", { model: "m", input: [{ content: "hi" }] }, "input[0].role"],
    ["responses", { model: "m", input: [{ role: "user" }] }, "input[0].content"],
    ["responses", responses({ max_output_tokens: 0.5 }), "max_output_tokens"],
    ["responses", responses({ background: true }), "background"],
    ["responses", responses({ background: 1 }), "background"],
  ] as const)("%s %j: %s", (api, body, param) => {
    const error = refusal(api, body);
    expect({ reason: error.reason, param: error.param }).toEqual({ reason: "invalid_value", param });
    expect(error.message).toContain(`"${param}"`);
  });
});

describe("what is let through", () => {
  test.each([
    ["chat", chat({ temperature: "hot", tools: 7, anything: { nested: [1] } })],
    ["chat", chat({ Temperature: 1, "X-Y": 1, metadata: { Model: 1 } })],
    ["chat", chat({ stream: null, n: null, max_tokens: null })],
    [
      "chat",
      { model: "m", messages: [{ role: "assistant", content: null, tool_calls: [] }, { role: "assistant" }] },
    ],
    ["chat", { model: "m", messages: [{ role: "developer", content: [1, "x", null, { type: "new" }] }] }],
    ["responses", responses({ input: [] })],
    ["responses", responses({ background: false })],
    ["responses", responses({ background: null })],
    ["responses", responses({ input: [{ type: "function_call_output", call_id: "c", output: "1" }] })],
  ] as const)("%s %j", (api, body) => {
    expect(read(api, body).model).toBe("m");
  });

  test("the bytes are kept as they came", () => {
    const bytes = Buffer.from('{ "messages" : [ {"role":"user","content":"h\\u00e9"} ],\r\n"model":"m" }');
    expect(readTextRequest("chat", bytes).bytes).toBe(bytes);
  });
});

describe("images are noticed", () => {
  const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
  const inline = { type: "input_image", image_url: `data:image/png;base64,${"A".repeat(4_000)}` };

  test("in any message of a chat, by their place", () => {
    const { input } = read("chat", {
      model: "m",
      messages: [user, { role: "tool", content: [{ type: "text", text: "see" }, image, image] }],
    });
    expect({ images: input.images, first: input.firstImage }).toEqual({
      images: 2,
      first: "messages[1].content[1]",
    });
  });

  test("in the content and the tool output of responses, and their base64 is not taken for text", () => {
    const body = {
      model: "m",
      input: [
        { role: "user", content: [inline] },
        { type: "function_call_output", output: [inline] },
      ],
    };
    const { input } = read("responses", body);
    expect(input.images).toBe(2);
    expect(input.textBytes).toBe(JSON.stringify(body).length - 2 * inline.image_url.length);
  });
});

test.each([
  ["chat", chat({ max_tokens: 5, max_completion_tokens: 9 }), 9],
  ["chat", chat({ max_output_tokens: 9 }), undefined],
  ["responses", responses({ max_output_tokens: 7, max_tokens: 9 }), 7],
] as const)("the limit on output of %s %j is %s", (api, body, limit) => {
  expect(read(api, body).outputLimit).toBe(limit);
});

test.each(['"ttl":"1h"', String.raw`"tt\u006c":"1h"`, '"ttl" : "1h"'])(
  "a cache mark is found in a large body, however it is written: %s",
  (ttl) => {
    const part = `{"type":"text","text":"x","cache_control":{"type":"ephemeral",${ttl}}}`;
    const text = `{"model":"m","messages":[{"role":"user","content":[${'{"type":"text","text":"y"},'.repeat(5_000)}${part}]}]}`;
    const { fields, input } = readTextRequest("chat", Buffer.from(text));
    const param = "messages[0].content[5000].cache_control.ttl";
    expect(fields).toContainEqual({ field: "cache_control.ttl", param, value: "1h" });
    expect(input.longCache).toBe(true);
  },
);
