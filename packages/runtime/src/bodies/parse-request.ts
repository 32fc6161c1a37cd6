// parseRequest checks request data against a zod schema. The error names the field at fault. A strict schema refuses
// unknown fields, because a misspelt restriction would otherwise restrict nothing; the refusal names the nearest valid
// field. Unknown fields with null restrict nothing and pass.
import { ServiceError } from "@gr/proto";
import { closest, distance } from "fastest-levenshtein";
import { core, z } from "zod";

/** Characters of an unknown field in a message. */
const MOST_ECHOED = 60;

/** @throws ServiceError invalid_value with `param` set to the path of the first bad field. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const { issues } = result.error;
  const unknown = issues.find((issue) => issue.code === "unrecognized_keys");
  if (unknown === undefined) throw invalidValue(issues[0]);
  const target = memberAt(value, unknown.path);
  const restriction = unknown.keys.find((key) => target[key] !== null);
  if (restriction !== undefined) throw unknownField(schema, unknown.path, restriction);
  return parseRequest(schema, withoutMembers(value, unknown.path, unknown.keys));
}

function memberAt(value: unknown, path: readonly PropertyKey[]): Record<string, unknown> {
  return path.reduce((at, key) => (at as Record<PropertyKey, unknown>)[key], value) as Record<
    string,
    unknown
  >;
}

function withoutMembers(value: unknown, path: readonly PropertyKey[], keys: readonly string[]): unknown {
  const copy = structuredClone(value);
  const target = memberAt(copy, path);
  for (const key of keys) delete target[key];
  return copy;
}

function unknownField(schema: z.ZodType, path: readonly PropertyKey[], key: string): ServiceError {
  const param = [core.toDotPath(path), key.slice(0, MOST_ECHOED)].filter((part) => part !== "").join(".");
  const known = path.length === 0 && schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  return new ServiceError("invalid_value", `The field "${param}" is unknown.${adviceOn(key, known)}`, {
    param,
  });
}

function adviceOn(key: string, known: readonly string[]): string {
  if (known.length === 0) return "";
  const nearest = closest(key.slice(0, MOST_ECHOED), known);
  return distance(key.slice(0, MOST_ECHOED), nearest) <= nearest.length / 2
    ? ` The nearest known field is "${nearest}".`
    : ` The known fields are ${known.map((name) => `"${name}"`).join(", ")}.`;
}

/**
 * Refuses NUL in any string, which PostgreSQL has no text for. Names of members count as strings.
 * @throws ServiceError invalid_value with `param` set to the path of the first bad field.
 */
export function refuseNul(value: unknown, path: readonly (string | number)[] = []): void {
  if (typeof value === "string") {
    if (value.includes("\0"))
      throw invalidValue({ path: [...path], message: "It must not contain a NUL character" });
  } else if (Array.isArray(value)) {
    for (const [index, member] of value.entries()) refuseNul(member, [...path, index]);
  } else if (typeof value === "object" && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      refuseNul(name, path);
      refuseNul(member, [...path, name]);
    }
  }
}

function invalidValue(issue: Pick<core.$ZodIssue, "path" | "message"> | undefined): ServiceError {
  const path = core.toDotPath(issue?.path ?? []);
  const what = issue?.message ?? "The request is not valid";
  const message = path === "" ? `${what}.` : `${what} (field "${path}").`;
  return new ServiceError("invalid_value", message, path === "" ? {} : { param: path });
}
