// Reads the body of a media request by a schema, for wire formats without exact messages about bad fields.
import type { z } from "zod";
import { Refusal } from "../request/refusal.ts";

/** @param schema strict, so that unknown fields are refused. @throws Refusal that names the first field at fault */
export function readBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const read = schema.safeParse(body);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const field = issue?.path.join(".") || null;
  const message = `Invalid request: ${field === null ? "" : `${field}: `}${issue?.message ?? "malformed"}`;
  throw new Refusal("invalid", message, field, "invalid_value");
}
