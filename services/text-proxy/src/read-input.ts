// Reads the `input` of a responses request as far as the specification names it. Items that are no messages (calls
// of tools, their outputs, reasoning) have a type of their own and neither role nor content.
import type { InputMeter } from "./input-meter.ts";
import { invalid, isObject, type JsonObject } from "./request-fields.ts";

/** @throws ServiceError invalid_value */
export function readInput(items: unknown, input: InputMeter): void {
  if (typeof items === "string") {
    input.messages = 1;
    return;
  }
  if (!Array.isArray(items)) throw invalid("input", "must be a string or an array of items");
  input.messages = items.length;
  for (let index = 0; index < items.length; index += 1) {
    const item: unknown = items[index];
    if (!isObject(item)) throw invalid(`input[${index}]`, "must be an object");
    const { type = "message" } = item;
    if (type === "message") readMessage(item, index);
    else input.addPart(item, "input", index);
    readParts(item["content"], `input[${index}].content`, input);
    readParts(item["output"], `input[${index}].output`, input);
  }
}

function readMessage({ role, content }: JsonObject, index: number): void {
  if (typeof role !== "string" || role === "") {
    throw invalid(`input[${index}].role`, "must be a non-empty string");
  }
  if (typeof content !== "string" && !Array.isArray(content)) {
    throw invalid(`input[${index}].content`, "must be a string or an array of parts");
  }
}

function readParts(parts: unknown, owner: string, input: InputMeter): void {
  if (!Array.isArray(parts)) return;
  for (let index = 0; index < parts.length; index += 1) input.addPart(parts[index], owner, index);
}
