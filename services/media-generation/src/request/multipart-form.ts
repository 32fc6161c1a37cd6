// multipart/form-data for routes that otherwise take JSON: text fields become the body's fields. Every size is
// limited, and counted as it arrives: a form may lie about its length. Files are read past, never kept.
import multipart from "@fastify/multipart";
import { ServiceError } from "@gr/proto";
import type { FastifyInstance, FastifyRequest } from "fastify";

export const MULTIPART = "multipart/form-data";

const MAX_FILES = 32;
const MAX_FIELDS = 64;
const MAX_NAME_BYTES = 100;
const MAX_FILE_BYTES = 25 * 1024 * 1024;
const TOO_LARGE = new Set([
  "FST_FIELDS_LIMIT",
  "FST_FILES_LIMIT",
  "FST_PARTS_LIMIT",
  "FST_REQ_FILE_TOO_LARGE",
]);

/** @param maxBytes of a whole form */
export async function acceptForms(scope: FastifyInstance, maxBytes: number): Promise<void> {
  await scope.register(multipart, {
    limits: {
      fieldNameSize: MAX_NAME_BYTES,
      fieldSize: MAX_FILE_BYTES,
      fields: MAX_FIELDS,
      fileSize: MAX_FILE_BYTES,
      files: MAX_FILES,
      parts: MAX_FIELDS + MAX_FILES,
      headerPairs: 20,
    },
  });
  scope.addHook("preValidation", async (request) => {
    if (request.isMultipart()) request.body = await readWithin(maxBytes, request);
  });
}

async function readWithin(maxBytes: number, request: FastifyRequest): Promise<object> {
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge();
  let arrived = 0;
  let refuse: (error: ServiceError) => void = () => undefined;
  const overflow = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const count = (chunk: Buffer) => {
    arrived += chunk.byteLength;
    if (arrived > maxBytes) refuse(tooLarge());
  };
  request.raw.on("data", count);
  const form = readForm(request);
  // When the size decides the race, nobody listens to the form any more.
  form.catch(() => undefined);
  try {
    return await Promise.race([form, overflow]);
  } catch (error) {
    // Whatever else the client sends is no part of a form any more.
    request.raw.unpipe();
    throw explain(error);
  } finally {
    request.raw.off("data", count);
  }
}

async function readForm(request: FastifyRequest): Promise<object> {
  const fields = new Map<string, unknown[]>();
  const add = (name: string, value: unknown) => fields.set(name, [...(fields.get(name) ?? []), value]);
  for await (const part of request.parts()) {
    if (part.type === "file") {
      const bytes = await sizeOf(part.file);
      // A browser sends a part without name and bytes where no file was chosen.
      if (bytes === 0 && !part.filename) continue;
      // An object, so that a file is never taken for a text.
      add(part.fieldname, { file: part.filename });
    } else {
      if (part.fieldnameTruncated || part.valueTruncated) throw tooLarge();
      add(part.fieldname, part.value);
    }
  }
  return Object.fromEntries([...fields].map(([name, values]) => [name, bodyValue(name, values)]));
}

/** Reads a file past. */
async function sizeOf(file: AsyncIterable<Buffer>): Promise<number> {
  let bytes = 0;
  for await (const chunk of file) bytes += chunk.byteLength;
  return bytes;
}

/** A field that came once is its value, one that came again is a list; forms know text only, so numbers are read. */
function bodyValue(name: string, values: readonly unknown[]): unknown {
  const [value] = values;
  if (values.length > 1) return values;
  return name === "n" && typeof value === "string" && /^\d{1,9}$/.test(value) ? Number(value) : value;
}

/** Whatever else goes wrong while a form is read is the form's fault. */
function explain(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = (error as { code?: string } | null)?.code ?? "";
  return TOO_LARGE.has(code) ? tooLarge(error) : malformed(error);
}

function tooLarge(cause?: unknown): ServiceError {
  const message = `The form is too large: at most ${MAX_FIELDS} fields and ${MAX_FILES} files of 25 MB each, 50 MB together.`;
  return new ServiceError("body_too_large", message, { cause });
}

function malformed(cause: unknown): ServiceError {
  return new ServiceError("invalid_value", "The body is not a valid multipart/form-data form.", { cause });
}
