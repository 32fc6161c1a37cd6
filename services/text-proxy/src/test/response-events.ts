// One event of each type that a stream of the Responses API can have (58 in OpenAI's specification), with every field
// that the specification requires, written as OpenAI writes them.

const VALUES: Readonly<Record<string, string>> = {
  item_id: '"item_0"',
  response_id: '"resp_1"',
  name: '"get_weather"',
  delta: '"a \\"piece\\" – é \\ud83d\\ude00"',
  text: '"a \\"piece\\" – é"',
  refusal: '"I would rather not."',
  code: '"print(1)"',
  input: '"any words"',
  command: '"ls -l"',
  arguments: '"{\\"city\\":\\"Paris\\"}"',
  logprobs: "[]",
  part: '{"type":"output_text","text":"","annotations":[]}',
  item: '{"id":"item_0","type":"message","status":"in_progress","role":"assistant","content":[]}',
  annotation: '{"type":"url_citation","url":"https://example.com/","start_index":0,"end_index":1}',
  output: '[{"stdout":"a","stderr":"","outcome":{"type":"exit","exit_code":0}}]',
  partial_image_b64: '"aGVsbG8="',
};
const INDEX = /_index$/;

/** Types that are neither the last of a stream nor carry a response, with the fields that they need. */
const PARTS: Readonly<Record<string, string>> = {
  "response.audio.delta": "delta response_id",
  "response.audio.done": "response_id",
  "response.audio.transcript.delta": "response_id delta",
  "response.audio.transcript.done": "response_id",
  "response.code_interpreter_call_code.delta": "output_index item_id delta",
  "response.code_interpreter_call_code.done": "output_index item_id code",
  "response.code_interpreter_call.completed": "output_index item_id",
  "response.code_interpreter_call.in_progress": "output_index item_id",
  "response.code_interpreter_call.interpreting": "output_index item_id",
  "response.content_part.added": "item_id output_index content_index part",
  "response.content_part.done": "item_id output_index content_index part",
  "response.file_search_call.completed": "output_index item_id",
  "response.file_search_call.in_progress": "output_index item_id",
  "response.file_search_call.searching": "output_index item_id",
  "response.function_call_arguments.delta": "item_id output_index delta",
  "response.function_call_arguments.done": "item_id name output_index arguments",
  "response.shell_call_command.added": "output_index command_index command",
  "response.shell_call_command.delta": "output_index command_index delta",
  "response.shell_call_command.done": "output_index command_index command",
  "response.shell_call_output_content.delta": "item_id output_index command_index delta",
  "response.shell_call_output_content.done": "item_id output_index command_index output",
  "response.output_item.added": "output_index item",
  "response.output_item.done": "output_index item",
  "response.reasoning_summary_part.added": "item_id output_index summary_index part",
  "response.reasoning_summary_part.done": "item_id output_index summary_index part",
  "response.reasoning_summary_text.delta": "item_id output_index summary_index delta",
  "response.reasoning_summary_text.done": "item_id output_index summary_index text",
  "response.reasoning_text.delta": "item_id output_index content_index delta",
  "response.reasoning_text.done": "item_id output_index content_index text",
  "response.refusal.delta": "item_id output_index content_index delta",
  "response.refusal.done": "item_id output_index content_index refusal",
  "response.output_text.delta": "item_id output_index content_index delta logprobs",
  "response.output_text.done": "item_id output_index content_index text logprobs",
  "response.web_search_call.completed": "output_index item_id",
  "response.web_search_call.in_progress": "output_index item_id",
  "response.web_search_call.searching": "output_index item_id",
  "response.image_generation_call.completed": "output_index item_id",
  "response.image_generation_call.generating": "output_index item_id",
  "response.image_generation_call.in_progress": "output_index item_id",
  "response.image_generation_call.partial_image":
    "output_index item_id partial_image_index partial_image_b64",
  "response.mcp_call_arguments.delta": "output_index item_id delta",
  "response.mcp_call_arguments.done": "output_index item_id arguments",
  "response.mcp_call.completed": "item_id output_index",
  "response.mcp_call.failed": "item_id output_index",
  "response.mcp_call.in_progress": "output_index item_id",
  "response.mcp_list_tools.completed": "item_id output_index",
  "response.mcp_list_tools.failed": "item_id output_index",
  "response.mcp_list_tools.in_progress": "item_id output_index",
  "response.output_text.annotation.added": "item_id output_index content_index annotation_index annotation",
  "response.custom_tool_call_input.delta": "output_index item_id delta",
  "response.custom_tool_call_input.done": "output_index item_id input",
};

/** Types that carry the response as it is then; the first three cannot be the last of a stream. */
const STATES = {
  "response.queued": "queued",
  "response.created": "in_progress",
  "response.in_progress": "in_progress",
  "response.completed": "completed",
  "response.incomplete": "incomplete",
  "response.failed": "failed",
} as const;
type StateType = keyof typeof STATES;

export const PART_TYPES = Object.keys(PARTS);
export const STATE_TYPES = Object.keys(STATES) as StateType[];

export function eventText(type: string, sequence: number, fields: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":${sequence}${fields === "" ? "" : `,${fields}`}}\n\n`;
}

/** @param more members beyond those that the type needs, each with a comma before it */
export function partEvent(type: string, sequence: number, more = ""): string {
  const names = (PARTS[type] ?? "").split(" ");
  const members = names.map((name) => `"${name}":${INDEX.test(name) ? "0" : VALUES[name]}`);
  return eventText(type, sequence, members.join(",") + more);
}

export function stateEvent(type: StateType, sequence: number, usage = "null"): string {
  const response =
    `{"id":"resp_1","object":"response","created_at":5,"status":"${STATES[type]}","error":null,` +
    `"incomplete_details":null,"model":"m","output":[],"usage":${usage}}`;
  return eventText(type, sequence, `"response":${response}`);
}

export function errorEvent(sequence: number): string {
  return eventText("error", sequence, '"code":"server_error","message":"no","param":null');
}
