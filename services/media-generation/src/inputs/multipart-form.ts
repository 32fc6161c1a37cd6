// multipart/form-data for routes that also accept JSON: text fields become the body's fields, and picture files are
// kept. Every size is limited and counted on arrival, because a form's declared length may be false.
import { createHash } from "node:crypto";
import multipart from "@fastify/multipart";
import { ServiceError } from "@gr/proto";
import { ArrivingBytes, incomingBodyOf } from "@gr/runtime";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { withBodyInTurns } from "./form-in-turns.ts";
import { FormFile, INPUT_FIELDS, MAX_PICTURE_BYTES } from "./input-sources.ts";

export const MULTIPART = "multipart/form-data";

const MAX_FILES = 32;
const MAX_FIELDS = 64;
const MAX_NAME_BYTES = 100;
/** Limit of one part. Busboy has this limit, but the types of @fastify/multipart lack it. */
const HEADER_LIMIT = { headerSize: 4_096 };
/** A data URI of the largest picture, with the text before its digits. */
const MAX_TEXT_BYTES = Math.ceil((MAX_PICTURE_BYTES * 4) / 3) + 1_000;
const MEGABYTE = 1024 * 1024;
const TOO_LARGE = new Set([
  "FST_FIELDS_LIMIT",
  "FST_FILES_LIMIT",
  "FST_PARTS_LIMIT",
  "FST_REQ_FILE_TOO_LARGE",
]);
const KEPT: ReadonlySet<string> = new Set(INPUT_FIELDS);

export async function acceptForms(scope: FastifyInstance, maxBytes: number): Promise<void> {
  await scope.register(multipart, {
    limits: {
      fieldNameSize: MAX_NAME_BYTES,
      fieldSize: MAX_TEXT_BYTES,
      fields: MAX_FIELDS,
      fileSize: MAX_PICTURE_BYTES,
      files: MAX_FILES,
      parts: MAX_FIELDS + MAX_FILES,
      headerPairs: 20,
      ...HEADER_LIMIT,
    },
  });
  scope.addHook("preValidation", async (request) => {
    if (request.isMultipart()) request.body = await readWithin(maxBytes, request);
  });
}

async function readWithin(maxBytes: number, request: FastifyRequest): Promise<object> {
  const announced = Number(request.headers["content-length"] ?? 0);
  if (announced > maxBytes) throw tooLarge(maxBytes);
  const incoming = incomingBodyOf(request);
  incoming?.expect(announced);
  let arrived = 0;
  let refuse: (error: unknown) => void = () => undefined;
  const overflow = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const count = (chunk: Buffer) => {
    arrived += chunk.byteLength;
    try {
      if (arrived > maxBytes) throw tooLarge(maxBytes);
      incoming?.reserve(chunk.byteLength);
    } catch (error) {
      refuse(error);
    }
  };
  request.raw.on("data", count);
  const owner = incoming?.owner ?? request.ip;
  const form = readForm(withBodyInTurns(request, { owner, signal: incoming?.signal }), maxBytes);
  // After a size error, no code reads the form any more.
  form.catch(() => undefined);
  try {
    return await Promise.race([form, overflow]);
  } catch (error) {
    // Further bytes from the client are not read.
    request.raw.unpipe();
    throw explain(error, maxBytes);
  } finally {
    request.raw.off("data", count);
  }
}

async function readForm(request: FastifyRequest, maxBytes: number): Promise<object> {
  const fields = new Map<string, unknown[]>();
  const add = (name: string, value: unknown) => fields.set(name, [...(fields.get(name) ?? []), value]);
  for await (const part of request.parts()) {
    if (part.type === "file") {
      const { size, file } = await readFile(part.file, KEPT.has(part.fieldname));
      // A browser sends a part without name and bytes where no file was chosen.
      if (size === 0 && !part.filename) continue;
      // An object, so that a file is never treated as text.
      add(part.fieldname, file);
    } else {
      if (part.fieldnameTruncated || part.valueTruncated) throw tooLarge(maxBytes);
      add(part.fieldname, part.value);
    }
  }
  return Object.fromEntries([...fields].map(([name, values]) => [name, bodyValue(name, values)]));
}

/** The digest is computed during the arrival. Afterwards, it would block the process. */
async function readFile(
  stream: AsyncIterable<Buffer>,
  kept: boolean,
): Promise<{ size: number; file: FormFile }> {
  const arriving = new ArrivingBytes(0);
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (!kept) continue;
    hash.update(chunk);
    arriving.push(chunk);
  }
  return { size, file: new FormFile(await arriving.whole(), hash.digest()) };
}

const numberOf = (text: string) => (/^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : text);
const truthOf = (text: string) => (text === "true" || text === "false" ? text === "true" : text);
/** Fields with values other than text: a form has only text. */
const NOT_TEXT = new Map<string, (text: string) => unknown>([
  ["n", numberOf],
  ["seconds", numberOf],
  ["audio", truthOf],
  ["stream", truthOf],
]);

/** A single field is its value, a repeated field is a list. */
function bodyValue(name: string, values: readonly unknown[]): unknown {
  const [value] = values;
  if (values.length > 1) return values;
  const read = NOT_TEXT.get(name);
  return typeof value === "string" && read !== undefined ? read(value) : value;
}

/** Any other error during the reading is the form's fault. */
function explain(error: unknown, maxBytes: number): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = (error as { code?: string } | null)?.code ?? "";
  return TOO_LARGE.has(code) ? tooLarge(maxBytes, error) : malformed(error);
}

function tooLarge(maxBytes: number, cause?: unknown): ServiceError {
  const [whole, each] = [maxBytes, MAX_PICTURE_BYTES].map((bytes) => `${Math.floor(bytes / MEGABYTE)} MB`);
  const message = `The form is too large: at most ${MAX_FIELDS} fields and ${MAX_FILES} files of ${each} each, ${whole} together.`;
  return new ServiceError("body_too_large", message, { cause });
}

function malformed(cause: unknown): ServiceError {
  return new ServiceError("invalid_value", "The body is not a valid multipart/form-data form.", { cause });
}
