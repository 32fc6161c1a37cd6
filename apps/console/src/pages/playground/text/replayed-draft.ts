// A replayed draft is the form of a saved text request: messages, and the parameters that the playground knows. Pictures and
// other parts without text are named only.
import { AUTO, EMPTY_TEXT, type Message, type TextDraft, type ToolCall } from "../drafts.ts";
import { EFFORTS } from "./text-request.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A message of a request or of an answer. */
export interface SpokenPart {
  readonly role: string;
  readonly content: string;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Text of a content: a string, or parts. */
function contentText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  const parts = content.map((part) => {
    const { type, text } = fieldsOf(part);
    return typeof text === "string" ? text : `[${textOf(type) || "part"}]`;
  });
  return parts.join("\n");
}

/** @param prompt body of a request, of either API */
export function spokenParts(prompt: unknown): SpokenPart[] {
  const { messages, input, instructions } = fieldsOf(prompt);
  const first =
    instructions === undefined || instructions === null
      ? []
      : [{ role: "system", content: textOf(instructions) }];
  if (typeof input === "string") return [...first, { role: "user", content: input }];
  const items = Array.isArray(messages) ? messages : listOf(input);
  return [...first, ...items.map(spokenPart)];
}

function spokenPart(item: unknown): SpokenPart {
  const { role, content, type, name, arguments: given, output } = fieldsOf(item);
  const calls = callsOf(item).map((call) => `${call.name}(${call.arguments})`);
  if (type === "function_call") return { role: "assistant", content: `${textOf(name)}(${textOf(given)})` };
  if (type === "function_call_output") return { role: "tool", content: contentText(output) };
  return {
    role: textOf(role) || textOf(type),
    content: [contentText(content), ...calls].filter(Boolean).join("\n"),
  };
}

/** @param answer of either API. @returns all texts of the answer, with the calls of tools */
export function answerText(answer: unknown): string {
  const { choices, output } = fieldsOf(answer);
  const said = listOf(choices).map((choice) => spokenPart(fieldsOf(choice)["message"]));
  const items = listOf(output).map(spokenPart);
  return [...said, ...items]
    .map(({ content }) => content)
    .filter(Boolean)
    .join("\n\n");
}

function callsOf(item: unknown): ToolCall[] {
  return listOf(fieldsOf(item)["tool_calls"]).map((call) => {
    const { id, function: named } = fieldsOf(call);
    const { name, arguments: given } = fieldsOf(named);
    return { id: textOf(id), name: textOf(name), arguments: textOf(given) };
  });
}

const SYSTEM: ReadonlySet<string> = new Set(["system", "developer"]);

/** The last message of the user is in the box, ready to be sent. @param prompt body of a request, of either API */
export function replayedDraft(prompt: unknown): TextDraft {
  const body = fieldsOf(prompt);
  const items = Array.isArray(body["messages"]) ? body["messages"] : listOf(body["input"]);
  const toolCallIds = items.map((item) => fieldsOf(item)["tool_call_id"]);
  const spoken = Array.isArray(body["messages"])
    ? items.map((item, index) => ({ ...fullMessage(item), toolCallId: toolCallIds[index] }))
    : spokenParts(prompt).map((part) => ({ ...part, toolCalls: [] as ToolCall[], toolCallId: undefined }));
  const system = spoken.filter(({ role }) => SYSTEM.has(role)).map(({ content }) => content);
  const talk = spoken.filter(({ role }) => !SYSTEM.has(role));
  const last = talk.at(-1);
  const isTyped = last?.role === "user";
  const messages = (isTyped ? talk.slice(0, -1) : talk).map(
    ({ role, content, toolCalls, toolCallId }, index): Message => {
      return {
        ...{ id: index + 1, content },
        role: role === "assistant" || role === "tool" ? role : "user",
        ...(toolCalls.length > 0 && { toolCalls }),
        ...(typeof toolCallId === "string" && { toolCallId }),
      };
    },
  );
  return {
    ...EMPTY_TEXT,
    ...parametersOf(body),
    ...{ system: system.join("\n\n"), messages, text: isTyped ? last.content : "" },
  };
}

function fullMessage(item: unknown): SpokenPart & { readonly toolCalls: ToolCall[] } {
  const { role, content } = fieldsOf(item);
  return { role: textOf(role), content: contentText(content), toolCalls: callsOf(item) };
}

function parametersOf(body: Fields): Partial<TextDraft> {
  const { temperature, top_p: topP, tools, response_format: format } = body;
  const number = (value: unknown) => (typeof value === "number" ? value : null);
  const effort = body["reasoning_effort"] ?? fieldsOf(body["reasoning"])["effort"];
  return {
    model: typeof body["model"] === "string" ? body["model"] : null,
    temperature: number(temperature),
    topP: number(topP),
    maxTokens: number(body["max_tokens"] ?? body["max_completion_tokens"] ?? body["max_output_tokens"]),
    effort: EFFORTS.find((known) => known === effort) ?? AUTO,
    isJson: fieldsOf(format)["type"] === "json_object",
    tools: listOf(tools).length === 0 ? "" : JSON.stringify(tools, null, 2),
  };
}
