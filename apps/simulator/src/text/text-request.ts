// TextRequest reads the bodies of chat completions and responses for the answer and the bill.
// Unknown fields are ignored, as the real providers do for fields that a model does not support.

import { Refusal, unknownModel } from "../request/refusal.ts";
import { isObject, type JsonObject, missing, wrongType } from "../request/request-fields.ts";
import { type AnswerOptions, readChatOptions, readResponsesOptions } from "./answer-options.ts";
import { TEXT_MODELS, type TextModel, TIERED_MODEL } from "./models.ts";
import { readFaults, type TextFaults } from "./text-faults.ts";
import { type Seller, type TextTerms, termsOf } from "./text-terms.ts";
import { InputMeter } from "./tokens.ts";

export interface TextRequest {
  readonly model: TextModel;
  readonly stream: boolean;
  /** OpenAI sends the usage of a chat stream only if the request has this option. */
  readonly includeUsage: boolean;
  readonly inputTokens: number;
  /** Data URIs and addresses of the images. */
  readonly images: readonly string[];
  /** All text parts of the last message with the role `user`. */
  readonly lastUserText: string;
  /** Results of tools since that message. */
  readonly toolResults: readonly string[];
  /** Names of the tools that were called since that message. */
  readonly calledTools: ReadonlySet<string>;
  /** The client's limit on output tokens. */
  readonly outputLimit: number | undefined;
  readonly options: AnswerOptions;
  readonly faults: TextFaults;
  /** Further items of the bill, beyond tokens at the usual rates. */
  readonly terms: TextTerms;
  readonly body: JsonObject;
}

/** Reads the body of `POST /chat/completions`. Throws a `Refusal`. */
export function readChatRequest(body: unknown, seller: Seller): TextRequest {
  const fields = readFields(body);
  const model = readModel(fields);
  const messages = fields["messages"];
  if (messages === undefined) throw missing("messages");
  if (!Array.isArray(messages)) throw wrongType("messages", "an array of objects", messages);
  if (messages.length === 0) {
    throw new Refusal(
      "invalid",
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      "messages",
      "empty_array",
    );
  }
  const options = fields["stream_options"];
  const limitName = fields["max_completion_tokens"] == null ? "max_tokens" : "max_completion_tokens";
  const input = readMessages(model, messages, "messages");
  return {
    model,
    stream: readFlag(fields, "stream"),
    includeUsage: isObject(options) && options["include_usage"] === true,
    outputLimit: readLimit(fields, limitName),
    options: readChatOptions(fields),
    terms: termsOf(seller, model, fields, input),
    body: fields,
    ...input,
  };
}

/** Reads the body of `POST /responses`. Throws a `Refusal`. */
export function readResponsesRequest(body: unknown, seller: Seller): TextRequest {
  const fields = readFields(body);
  const model = readModel(fields);
  const input = fields["input"];
  if (input === undefined) throw missing("input");
  if (typeof input !== "string" && !Array.isArray(input)) {
    throw wrongType("input", "a string or an array of items", input);
  }
  const items: unknown[] = typeof input === "string" ? [{ role: "user", content: input }] : input;
  const instructions = fields["instructions"];
  if (instructions != null && typeof instructions !== "string") {
    throw wrongType("instructions", "a string", instructions);
  }
  const read = readMessages(model, items, "input", instructions ?? undefined);
  return {
    model,
    stream: readFlag(fields, "stream"),
    includeUsage: true,
    outputLimit: readLimit(fields, "max_output_tokens"),
    options: readResponsesOptions(fields),
    terms: termsOf(seller, model, fields, read),
    body: fields,
    ...read,
  };
}

function readFields(body: unknown): JsonObject {
  if (!isObject(body)) throw new Refusal("invalid", "The request body must be a JSON object.");
  return body;
}

function readModel(fields: JsonObject): TextModel {
  const id = fields["model"];
  if (id === undefined || id === "") throw new Refusal("invalid", "you must provide a model parameter");
  if (typeof id !== "string") throw wrongType("model", "a string", id);
  const model = id === TIERED_MODEL.id ? TIERED_MODEL : TEXT_MODELS.get(id);
  if (model === undefined) throw unknownModel(id);
  return model;
}

type Input = Pick<
  TextRequest,
  "inputTokens" | "images" | "lastUserText" | "toolResults" | "calledTools" | "faults"
>;

function readMessages(model: TextModel, messages: unknown[], name: string, instructions?: string): Input {
  const meter = new InputMeter();
  if (instructions !== undefined) {
    meter.addMessage();
    meter.addText(instructions);
  }
  let lastUserText = "";
  let toolResults: string[] = [];
  const calledTools = new Set<string>();
  for (let index = 0; index < messages.length; index++) {
    const message: unknown = messages[index];
    const path = `${name}[${index}]`;
    if (!isObject(message)) throw wrongType(path, "an object", message);
    meter.addMessage();
    const role = message["role"];
    // In a responses input, items such as function_call_output have a type and no role.
    if (typeof role !== "string" && (name === "messages" || typeof message["type"] !== "string")) {
      throw missing(`${path}.role`);
    }
    const text = readContent(meter, message["content"], `${path}.content`);
    const result = readContent(meter, message["output"], `${path}.output`);
    if (role === "user") {
      lastUserText = text;
      toolResults = [];
      calledTools.clear();
    } else if (role === "tool") toolResults.push(text);
    else if (message["type"] === "function_call_output") toolResults.push(result);
    for (const called of callsIn(message)) calledTools.add(called);
  }
  if (meter.images.length > 0 && !model.vision) {
    throw new Refusal(
      "no_vision",
      "Invalid content type. image_url is only supported by certain models.",
      `${name}.content`,
    );
  }
  const faults = readFaults(model, lastUserText);
  return { inputTokens: meter.tokens, images: meter.images, lastUserText, toolResults, calledTools, faults };
}

/** Returns the names of the functions that a message of the assistant, or an item of an output, calls. */
function callsIn(message: JsonObject): string[] {
  const calls = message["tool_calls"];
  const functions = Array.isArray(calls)
    ? calls.map((call: unknown) => (isObject(call) ? call["function"] : undefined))
    : message["type"] === "function_call"
      ? [message]
      : [];
  return functions.flatMap((called: unknown) =>
    isObject(called) && typeof called["name"] === "string" ? [called["name"]] : [],
  );
}

/** Meters one message's content and returns its text. */
function readContent(meter: InputMeter, content: unknown, path: string): string {
  if (typeof content === "string") {
    meter.addText(content);
    return content;
  }
  if (content == null) return "";
  if (!Array.isArray(content)) throw wrongType(path, "a string or an array of content parts", content);
  let text = "";
  for (const part of content) {
    if (!isObject(part)) throw wrongType(path, "an array of content parts", part);
    const type = part["type"];
    if (type === "image_url" || type === "input_image") {
      const image = part["image_url"];
      const url = isObject(image) ? image["url"] : image;
      meter.addImage(typeof url === "string" ? url : "");
    } else if (typeof part["text"] === "string") {
      meter.addText(part["text"]);
      text += part["text"];
    }
  }
  return text;
}

function readFlag(fields: JsonObject, name: string): boolean {
  const value = fields[name];
  if (value == null) return false;
  if (typeof value !== "boolean") throw wrongType(name, "a boolean", value);
  return value;
}

function readLimit(fields: JsonObject, name: string): number | undefined {
  const value = fields[name];
  if (value == null) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value)) throw wrongType(name, "an integer", value);
  if (value < 1) {
    throw new Refusal(
      "invalid",
      `Invalid '${name}': integer below minimum value. Expected a value >= 1, but got ${value} instead.`,
      name,
      "integer_below_min_value",
    );
  }
  return value;
}
