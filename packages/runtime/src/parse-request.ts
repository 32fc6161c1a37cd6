// Checks request data against a zod schema. The error names the field that is at fault.
import { ServiceError } from "@gr/proto";
import { core, type z } from "zod";

/** @throws ServiceError invalid_value with `param` set to the path of the first bad field. */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, value: unknown): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidValue(result.error.issues[0]);
}

function invalidValue(issue: core.$ZodIssue | undefined): ServiceError {
  const path = core.toDotPath(issue?.path ?? []);
  const what = issue?.message ?? "The request is not valid";
  const message = path === "" ? `${what}.` : `${what} (field "${path}").`;
  return new ServiceError("invalid_value", message, path === "" ? {} : { param: path });
}
