// Reads the `messages` of a chat completion as far as the specification names them.
import type { InputMeter } from "./input-meter.ts";
import { invalid, isObject } from "./request-fields.ts";

/** Those of the specification, and the two that SDKs of the same format send besides. */
const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool", "developer", "function"]);

/** @throws ServiceError invalid_value */
export function readMessages(messages: unknown, input: InputMeter): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid("messages", "must be an array of at least one message");
  }
  input.messages = messages.length;
  for (let index = 0; index < messages.length; index += 1) {
    const message: unknown = messages[index];
    if (!isObject(message)) throw invalid(`messages[${index}]`, "must be an object with role and content");
    const { role, content } = message;
    if (!ROLES.has(role)) throw invalid(`messages[${index}].role`, "must be system, user, assistant or tool");
    if (typeof content === "string") continue;
    if (Array.isArray(content)) readParts(content, index, input);
    // An assistant that only called tools has said nothing.
    else if (content != null || role !== "assistant") {
      throw invalid(`messages[${index}].content`, "must be a string or an array of parts");
    }
  }
}

function readParts(parts: readonly unknown[], message: number, input: InputMeter): void {
  for (let index = 0; index < parts.length; index += 1) {
    input.addPart(parts[index], `messages[${message}].content`, index);
  }
}
