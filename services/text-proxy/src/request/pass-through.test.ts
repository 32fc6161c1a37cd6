// Fields beyond the specification: the client's reach the upstream unchanged, and the upstream's reach the client.
// Pictures are the exception: a model without vision never receives them.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { idOf, type Rig, startRig } from "../test/rig.ts";
import { ScriptedUpstream, sendJson, startStream } from "../test/scripted-upstream.ts";

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

/** Written as few writers do: spaces, escapes, numbers that no double holds, members in an order of their own. */
const ODD = String.raw`"x_future" : {"deep":[1e2,-0.0,12345678901234567890,0.30000000000000004,{"\u0061":"\ud83d\ude00 é\/"}], "":null}`;
const schema = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`;

const chatBody = `{
  "messages": [
    {"role":"developer","content":"Be brief.","name":"d"},
    {"role":"user","content":[
      {"type":"text","text":"h\\u00e9llo","cache_control":{"type":"ephemeral"}},
      {"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},
      {"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}},
      {"type":"x_future_part","x":[1e2]}
    ]},
    {"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"a\\": 1.0}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"18"},
    {"role":"assistant","content":null,"refusal":"no","reasoning_details":[{"type":"reasoning.encrypted","data":"=="}]}
  ],
  "model" : "sandbox/chat", "n": 2, "max_completion_tokens": 9, "seed": -1, "stop": ["\\n"], "logit_bias": {"50256": -100},
  "tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":${schema}}},{"type":"custom","custom":{"name":"g"}}],
  "tool_choice":{"type":"function","function":{"name":"f"}}, "parallel_tool_calls":false,
  "response_format":{"type":"json_schema","json_schema":{"name":"r","strict":true,"schema":${schema}}},
  "reasoning_effort":"high","reasoning":{"effort":"high","exclude":false},"verbosity":"low",
  "logprobs":true,"top_logprobs":5,"modalities":["text","audio"],"audio":{"voice":"alloy","format":"wav"},
  "prediction":{"type":"content","content":"x"},"web_search_options":{},"provider":{"order":["a"]},"user":"u",
  "service_tier":"flex","store":false,"metadata":{"a":"b"},"temperature":1.0,"top_p":1,
  ${ODD}
}`;
const responsesBody = `{"input":[
    {"role":"user","content":[
      {"type":"input_text","text":"h\\u00e9llo"},
      {"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="},
      {"type":"input_audio","input_audio":{"data":"UklGRg==","format":"mp3"}},{"type":"x_future_part","x":[1e2]}]},
    {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"=="},
    {"type":"function_call","call_id":"c1","name":"f","arguments":"{\\"a\\": 1.0}"},
    {"type":"function_call_output","call_id":"c1","output":"18"},
    {"type":"x_future_item","x":1.50}],
  "model":"sandbox/chat","instructions":"Be brief.","max_output_tokens":9,"include":["message.output_text.logprobs"],
  "tools":[{"type":"function","name":"f","strict":true,"parameters":${schema}},{"type":"web_search"},{"type":"x_future_tool"}],
  "tool_choice":"required","reasoning":{"effort":"high","summary":"auto"},"top_logprobs":5,
  "text":{"verbosity":"low","format":{"type":"json_schema","name":"r","strict":true,"schema":${schema}}},
  "truncation":"auto","prompt_cache_key":"k","safety_identifier":"s","temperature":1.0,
  ${ODD}}`;
const bodies = [
  ["chat/completions", chatBody],
  ["responses", responsesBody],
] as const;

const usage = {
  "chat/completions":
    '"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"cost":0.0011,"x_new":[1e2]}',
  responses: '"usage":{"input_tokens":9,"output_tokens":2,"total_tokens":11,"cost":0.0011,"x_new":[1e2]}',
};
const answers = {
  "chat/completions": `{"id":"gen-1", ${ODD},"choices":[{"index":0,"message":{"role":"assistant","content":null,
    "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\\"a\\":\\"\\\\u00e9\\"}"}}],
    "reasoning":"h\\u00e9","audio":{"id":"a","data":"UklGRg==","transcript":"x"},"images":[],"annotations":[],"x_new":1.0},
    "logprobs":{"content":[{"token":"a","logprob":-0.0,"bytes":[97],"top_logprobs":[]}]},"finish_reason":"tool_calls"},
    {"index":1,"message":{"role":"assistant","content":"{\\"a\\":\\"b\\"}"},"finish_reason":"stop"}],
    ${usage["chat/completions"]},"service_tier":"flex"}`,
  responses: `{"id":"resp_1", ${ODD},"output":[{"type":"reasoning","summary":[],"encrypted_content":"=="},
    {"type":"function_call","call_id":"c","name":"f","arguments":"{ }"},{"type":"x_future_item","x":1.50},
    {"type":"message","role":"assistant","content":[{"type":"output_text","text":"h\\u00e9","annotations":[],"logprobs":[]}]}],
    ${usage.responses},"x_new":null}`,
};

/**
 * Adds the limits of the upstream's bill: the price of the chosen host, and the cost of tools, a step below the hold.
 */
function bounded(body: string): string {
  const host = '"provider":{"order":["a"]';
  const most = ',"max_price":{"prompt":0.5,"completion":1.5,"request":0}';
  const tools = ',"stop_server_tools_when":[{"type":"max_cost","max_cost_in_dollars":0.7094}]}';
  return body.includes(host) ? body.replace(host, `${host}${most}`) : body.replace(/\}$/, tools);
}

describe.each(bodies)("%s", (path, body) => {
  test("says to the upstream what the client says, byte for byte, and what bounds the bill", async () => {
    upstream.script((_, response) => sendJson(response, answers[path]));
    expect((await rig.post(path, body)).status).toBe(200);
    expect(upstream.requests[0]?.body.toString()).toBe(bounded(body));
  });

  test("says to the client what the upstream says, byte for byte, with the charge at its end", async () => {
    upstream.script((_, response) => sendJson(response, answers[path]));
    const response = await rig.post(path, body);
    expect(await response.text()).toBe(answers[path].replace(/\}$/, ',"cost":0.0011}'));
    expect(rig.billing.callsOf(idOf(response))[1]).toMatchObject({ kind: "capture", credits: 11n });
  });
});

test("a chat stream says what the upstream says: calls, thoughts, log probabilities, audio, choices, what is new", async () => {
  const deltas = [
    '{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":""}}]}',
    '{"tool_calls":[{"index":0,"function":{"arguments":"{\\"usage\\": 1"}}]}',
    '{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]}',
    '{"reasoning":"\\u00e9","reasoning_details":[{"type":"reasoning.text","text":"\\u00e9"}]}',
    '{"audio":{"id":"a","data":"UklGRg==","transcript":"x"}}',
    '{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}',
    '{"refusal":"no"}',
    `{${ODD}}`,
  ].map(
    (delta, index) =>
      `data: {"id":"gen-1","choices":[{"index":${index % 2},"delta":${delta},"logprobs":{"content":[]},"finish_reason":null}],"obfuscation":"x"}\n\n`,
  );
  const events = [
    ...deltas,
    'event: x_future\nid: 7\nretry: 10\ndata: {"id":"gen-1","choices":[],"x_new":1e2}\n\n',
    `data: {"id":"gen-1","choices":[],${usage["chat/completions"]}}\n\n`,
    "data: [DONE]\n\n",
  ];
  upstream.script((_, response) => {
    startStream(response);
    for (const event of events) response.write(event);
    response.end();
  });
  const response = await rig.post("chat/completions", chatBody.replace(/\}$/, ',"stream":true}'));
  expect(await response.text()).toBe(events.join(""));
  expect(rig.billing.callsOf(idOf(response))[1]).toMatchObject({ kind: "capture", credits: 11n });
  const sent = upstream.requests[0]?.body.toString() ?? "";
  expect(sent.replace(',"stream_options":{"include_usage":true}', "")).toBe(
    bounded(chatBody.replace(/\}$/, ',"stream":true}')),
  );
});

const chatImage = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
const inputImage = { type: "input_image", image_url: "data:image/png;base64,AA==" };
const toolAnswer = (content: unknown) => ({ role: "tool", tool_call_id: "c1", content });

test.each([
  ["chat/completions", { messages: [{ role: "user", content: [{ type: "text", text: "a" }, chatImage] }] }],
  ["chat/completions", { messages: [{ role: "user", content: "a" }, toolAnswer([chatImage])] }],
  [
    "chat/completions",
    {
      messages: [
        { role: "system", content: [chatImage] },
        { role: "user", content: "a" },
      ],
    },
  ],
  ["responses", { input: [{ role: "user", content: [inputImage] }] }],
  ["responses", { input: [{ role: "user", content: [{ type: "input_image", file_id: "file-1" }] }] }],
  ["responses", { input: [{ type: "function_call_output", call_id: "c1", output: [inputImage] }] }],
] as const)(
  "an image for a model without vision is refused before anything is sent (%s, %#)",
  async (path, fields) => {
    upstream.script((_, response) => sendJson(response, answers[path]));
    const body = { model: "sandbox/chat", ...fields };
    const response = await rig.post(path, body);
    const { error } = (await response.json()) as { error: { code: string; param: string } };
    expect([response.status, error.code]).toEqual([400, "vision_not_supported"]);
    expect(error.param).toMatch(/^(messages|input)\[\d\]/);
    expect(rig.billing.callsOf(idOf(response))).toEqual([]);
    expect(upstream.requests).toHaveLength(0);
    expect((await rig.post(path, { ...body, model: "sandbox/chat-vision" })).status).toBe(200);
  },
);
