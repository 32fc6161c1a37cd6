// Checks request data against a zod schema. The error names the field that is at fault.
import { ServiceError } from "@gr/proto";
import { core, type z } from "zod";

/** @throws ServiceError invalid_value with `param` set to the path of the first bad field. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidValue(result.error.issues[0]);
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
