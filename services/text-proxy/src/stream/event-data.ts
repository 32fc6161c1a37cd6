// The JSON that an event of a stream carries.
import { dataOf, endOfEvent, parseForeignJson } from "@gr/runtime";
import { isObject, type JsonObject } from "../json/json-object.ts";

export interface DataSpan {
  readonly start: number;
  readonly end: number;
}

/** The JSON object of an event's data; undefined when it is none. */
export function parseData(event: Buffer, { start, end }: DataSpan): JsonObject | undefined {
  try {
    const value: unknown = parseForeignJson(event.subarray(start, end));
    return isObject(value) ? value : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The JSON object of the first event of a block that has data. */
export function firstData(block: Buffer): JsonObject | undefined {
  for (let at = 0; at < block.length; ) {
    const end = endOfEvent(block, at);
    const event = block.subarray(at, end);
    const data = dataOf(event);
    if (data !== undefined) return parseData(event, data);
    at = end;
  }
  return undefined;
}
