// Refuses a bad field of a request: the error has the field's name and its requirement.
import { ServiceError } from "@gr/proto";
import type { JsonObject } from "../json/json-object.ts";

/** @param problem continues the sentence: The field "n" … */
export function badField(param: string, problem: string): ServiceError {
  return new ServiceError("invalid_value", `The field "${param}" ${problem}.`, { param });
}

/** A whole number from 1 to `most`; undefined when absent or null. @throws ServiceError invalid_value */
export function readCount(body: JsonObject, name: string, most: number): number | undefined {
  const value = body[name];
  if (value == null) return undefined;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > most) {
    throw badField(name, `must be a whole number from 1 to ${most}`);
  }
  return value;
}
