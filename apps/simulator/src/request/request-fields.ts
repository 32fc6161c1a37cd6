// Common functions of the readers of JSON bodies: the check for an object, and the error for a bad field.
import { Refusal } from "./refusal.ts";

export type JsonObject = { readonly [field: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function missing(name: string): Refusal {
  return new Refusal("invalid", `Missing required parameter: '${name}'.`, name, "missing_required_parameter");
}

export function wrongType(name: string, expected: string, value: unknown): Refusal {
  return new Refusal(
    "invalid",
    `Invalid type for '${name}': expected ${expected}, but got ${describe(value)} instead.`,
    name,
    "invalid_type",
  );
}

function describe(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a decimal number";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
