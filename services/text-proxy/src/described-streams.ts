// Descriptions and examples of both APIs' server-sent events, for the API description.
import { z } from "zod";
import type { TextApi } from "./request/text-request.ts";

const ALIVE =
  "Lines with a leading colon keep the connection open and have no content. Events of the provider are passed on unchanged.";

const WORDS: Readonly<Record<TextApi, string>> = {
  chat:
    `With stream: true. Each event is \`data:\` and a chunk of the chat completion as JSON. ${ALIVE} The last chunk before ` +
    "`data: [DONE]` has `usage`: tokens, and `cost`, the true cost in USD. A stream that fails after its start ends with a " +
    'chunk that has `error` and the finish_reason "error"; without `usage` in that chunk it is free.',
  responses:
    `With stream: true. Each event has a name, and its \`data:\` is JSON with that name as \`type\`. ${ALIVE} The last event is ` +
    "`response.completed`, or `response.incomplete`: its `response.usage` has tokens and `cost`, the true cost in USD. A stream " +
    "that fails after its start ends with `response.failed` and the reason in `response.error`; without `usage` in that event it is free.",
};

const CHAT_HEAD = '"id":"gen-1","object":"chat.completion.chunk","created":1767225600,"model":"vendor/model"';
const CHAT_USAGE = '"usage":{"prompt_tokens":9,"completion_tokens":2,"total_tokens":11,"cost":0.0000125}';
const RESPONSE_HEAD = '"id":"resp_1","object":"response","created_at":1767225600,"model":"vendor/model"';
const RESPONSE_USAGE = '"usage":{"input_tokens":9,"output_tokens":2,"total_tokens":11,"cost":0.0000125}';

const EXAMPLES: Readonly<Record<TextApi, readonly string[]>> = {
  chat: [
    ": keep-alive",
    `data: {${CHAT_HEAD},"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes."},"finish_reason":null}]}`,
    `data: {${CHAT_HEAD},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}]}`,
    `data: {${CHAT_HEAD},"choices":[],${CHAT_USAGE}}`,
    "data: [DONE]",
  ],
  responses: [
    `event: response.created\ndata: {"type":"response.created","sequence_number":0,"response":{${RESPONSE_HEAD},"status":"in_progress"}}`,
    'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":1,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"Yes."}',
    `event: response.completed\ndata: {"type":"response.completed","sequence_number":2,"response":{${RESPONSE_HEAD},"status":"completed",${RESPONSE_USAGE}}}`,
  ],
};

/** The answer to `stream: true`, by its content type. */
export function describedStream(api: TextApi) {
  const schema = z.string().describe(WORDS[api]);
  return { "text/event-stream": { schema, example: EXAMPLES[api].map((event) => `${event}\n\n`).join("") } };
}
