// Reads the model's input in a request: the `messages` of a chat completion, the `input` of a response.
// Only fields of the specification are checked.
import { isObject, type JsonObject } from "../json/json-object.ts";
import { badField } from "./bad-field.ts";
import type { InputMeter } from "./input-meter.ts";
import { ReadNames } from "./lookalikes.ts";

/** The roles of the specification, and two more that SDKs of the same format send. */
export const CHAT_ROLES = ["system", "user", "assistant", "tool", "developer", "function"] as const;
const KNOWN_ROLES: ReadonlySet<unknown> = new Set(CHAT_ROLES);
const MESSAGE = new ReadNames("role", "content");
const ITEM = new ReadNames("type", "role", "content", "output");

/** @throws ServiceError invalid_value */
export function readMessages(messages: unknown, input: InputMeter): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw badField("messages", "must be an array of at least one message");
  }
  input.messages = messages.length;
  for (let index = 0; index < messages.length; index += 1) {
    const message: unknown = messages[index];
    if (!isObject(message)) throw badField(`messages[${index}]`, "must be an object with role and content");
    MESSAGE.refuseLookalikes(message, `messages[${index}]`);
    const { role, content } = message;
    if (!KNOWN_ROLES.has(role)) {
      throw badField(`messages[${index}].role`, "must be system, user, assistant or tool");
    }
    // An assistant message with tool calls only has no content.
    if (content == null && role === "assistant") continue;
    readContent(content, `messages[${index}].content`, input);
  }
}

/**
 * Items that are no messages (calls of tools, their outputs, reasoning) have a type of their own and neither role nor
 * content.
 * @throws ServiceError invalid_value
 */
export function readItems(items: unknown, input: InputMeter): void {
  if (typeof items === "string") {
    input.messages = 1;
    return;
  }
  if (!Array.isArray(items)) throw badField("input", "must be a string or an array of items");
  input.messages = items.length;
  for (let index = 0; index < items.length; index += 1) {
    const item: unknown = items[index];
    if (!isObject(item)) throw badField(`input[${index}]`, "must be an object");
    ITEM.refuseLookalikes(item, `input[${index}]`);
    const { type = "message" } = item;
    if (type === "message") readMessage(item, index, input);
    else {
      input.addPart(item, "input", index);
      readParts(item["content"], `input[${index}].content`, input);
    }
    readParts(item["output"], `input[${index}].output`, input);
  }
}

function readMessage({ role, content }: JsonObject, index: number, input: InputMeter): void {
  if (typeof role !== "string" || role === "") {
    throw badField(`input[${index}].role`, "must be a non-empty string");
  }
  readContent(content, `input[${index}].content`, input);
}

function readContent(content: unknown, owner: string, input: InputMeter): void {
  if (typeof content === "string") return;
  if (!Array.isArray(content)) throw badField(owner, "must be a string or an array of parts");
  readParts(content, owner, input);
}

function readParts(parts: unknown, owner: string, input: InputMeter): void {
  if (!Array.isArray(parts)) return;
  for (let index = 0; index < parts.length; index += 1) input.addPart(parts[index], owner, index);
}
