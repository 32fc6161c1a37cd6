// Forms (multipart/form-data) as bodies of routes: text fields become the fields of the body, files become FormFiles.
// Every size is limited and counted on arrival, because a form's declared length may be false. A form is read in turns
// with the long bodies of other accounts: without turns, a few forms that arrive fast would block the event loop.
import { createHash } from "node:crypto";
import { Transform } from "node:stream";
import type {} from "@fastify/multipart";
import { ServiceError } from "@gr/proto";
import type { FastifyRequest } from "fastify";
import type { z } from "zod";
import { ArrivingBytes } from "./arriving-bytes.ts";
import type { FairWork } from "./fair-gate.ts";
import { byteCounter, incomingBodyOf } from "./incoming-body.ts";
import { loopTurns } from "./parse-in-turns.ts";

export const FORM_TYPE = "multipart/form-data";

const FORM_LIMITS = { fields: 64, files: 32, nameBytes: 100, headersOfPart: 20, headerBytesOfPart: 4_096 };
const MEGABYTE = 1024 * 1024;
const TOO_LARGE = new Set([
  "FST_FIELDS_LIMIT",
  "FST_FILES_LIMIT",
  "FST_PARTS_LIMIT",
  "FST_REQ_FILE_TOO_LARGE",
]);

/** Form that a route accepts beside JSON. The fields of both pass the same schema, the route's `body`. */
export interface FormRules {
  /** Field types of the form; for the OpenAPI document. */
  readonly schema: z.ZodType;
  /** Limit of the whole form, in bytes. */
  readonly maxBytes: number;
  /** Limit of one file, in bytes. A text field may be as long as a data URI of such a file. */
  readonly maxFileBytes: number;
  /** Fields with files. Files in other fields are counted, and their bytes are dropped. */
  readonly fileFields: readonly string[];
}

/** Converts the text of a field to the type of its schema; returns text of another form unchanged. */
export type TextReader = (text: string) => unknown;

/** A file in a form. */
export class FormFile {
  readonly sha256: Buffer;
  #bytes: Buffer;

  constructor(bytes: Buffer, sha256: Buffer) {
    this.#bytes = bytes;
    this.sha256 = sha256;
  }

  /** Moves the bytes out of the form, which outlives them and must not hold them. */
  release(): Buffer {
    const bytes = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    return bytes;
  }
}

/**
 * Reads the form of a request after `registerRest` has added the plugin of forms. A refusal is sent while the form arrives.
 * @param readers readers of the fields with values other than text
 * @throws ServiceError invalid_value, body_too_large, or the error of the module's body rules
 */
export async function readFormBody(
  request: FastifyRequest,
  rules: FormRules,
  readers: ReadonlyMap<string, TextReader>,
): Promise<object> {
  const count = byteCounter(request, {
    limit: rules.maxBytes,
    unannounced: 0,
    excess: () => tooLarge(rules),
  });
  let refuse: (error: unknown) => void = () => undefined;
  const overflow = new Promise<never>((_, reject) => {
    refuse = reject;
  });
  const onData = (chunk: Buffer) => {
    try {
      count(chunk.byteLength);
    } catch (error) {
      refuse(error);
    }
  };
  request.raw.on("data", onData);
  const { owner = request.ip, signal } = incomingBodyOf(request) ?? {};
  const form = readParts(withBodyInTurns(request, { owner, signal }), rules, readers);
  // After a size error, no code reads the form any more.
  form.catch(() => undefined);
  try {
    return await Promise.race([form, overflow]);
  } catch (error) {
    // Further bytes from the client are not read.
    request.raw.unpipe();
    throw explain(error, rules);
  } finally {
    request.raw.off("data", onData);
  }
}

/** Returns the readers of the fields that are no text in JSON. @param schema JSON schema of the route's body */
export function textReaders({ properties = {} }: JsonSchema): Map<string, TextReader> {
  const readers = new Map<string, TextReader>();
  for (const [name, schema] of Object.entries(properties)) {
    const types = typesOf(schema);
    if (types.has("boolean")) readers.set(name, truthOf);
    else if (types.has("number") || types.has("integer")) readers.set(name, numberOf);
  }
  return readers;
}

interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

function typesOf({ type, anyOf = [] }: JsonSchema): Set<string> {
  return new Set([type ?? [], ...anyOf.map((part) => [...typesOf(part)])].flat());
}

const numberOf = (text: string) => (/^\d{1,9}(\.\d{1,9})?$/.test(text) ? Number(text) : text);
/** Clients in Python send True and False. */
const truthOf = (text: string) => (/^(true|false)$/i.test(text) ? text.toLowerCase() === "true" : text);

/** Returns a stream that passes each piece on in its own turn. */
export function inTurns(work: FairWork): Transform {
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      // The reader handles the piece within the same step.
      const step = loopTurns.step({ ...work, cost: piece.length }, () => void this.push(piece));
      step.then(() => done(), done);
    },
  });
}

/** Returns the request with a body that arrives in turns. Its reader need not end the connection. */
function withBodyInTurns(request: FastifyRequest, work: FairWork): FastifyRequest {
  const { raw } = request;
  const body = Object.assign(raw.pipe(inTurns(work)), { headers: raw.headers });
  raw.once("close", () => {
    if (!raw.readableEnded) body.destroy(new Error("the client has left"));
  });
  return Object.create(request, { raw: { value: body } }) as FastifyRequest;
}

/** Busboy limits the headers of a part, but the types of @fastify/multipart lack that limit. */
const HEADER_LIMIT = { headerSize: FORM_LIMITS.headerBytesOfPart };

async function readParts(
  request: FastifyRequest,
  rules: FormRules,
  readers: ReadonlyMap<string, TextReader>,
): Promise<object> {
  const limits = {
    fieldNameSize: FORM_LIMITS.nameBytes,
    fieldSize: Math.ceil((rules.maxFileBytes * 4) / 3) + 1_000,
    fields: FORM_LIMITS.fields,
    fileSize: rules.maxFileBytes,
    files: FORM_LIMITS.files,
    parts: FORM_LIMITS.fields + FORM_LIMITS.files,
    headerPairs: FORM_LIMITS.headersOfPart,
    ...HEADER_LIMIT,
  };
  const fields = new Map<string, unknown[]>();
  const add = (name: string, value: unknown) => fields.set(name, [...(fields.get(name) ?? []), value]);
  for await (const part of request.parts({ limits })) {
    if (part.type === "file") {
      const { size, file } = await readFile(part.file, rules.fileFields.includes(part.fieldname));
      // A browser sends a part without name and bytes where no file was chosen.
      if (size === 0 && !part.filename) continue;
      // An object, so that a file is never treated as text.
      add(part.fieldname, file);
    } else {
      if (part.fieldnameTruncated || part.valueTruncated) throw tooLarge(rules);
      // A browser sends an empty field where nothing was entered.
      if (part.value !== "") add(part.fieldname, part.value);
    }
  }
  return Object.fromEntries(
    [...fields].map(([name, values]) => [name, bodyValue(values, readers.get(name))]),
  );
}

/** The digest is computed during the arrival. Afterwards, it would block the process. */
async function readFile(
  stream: AsyncIterable<Buffer>,
  isKept: boolean,
): Promise<{ size: number; file: FormFile }> {
  const arriving = new ArrivingBytes(0);
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.byteLength;
    if (!isKept) continue;
    hash.update(chunk);
    arriving.push(chunk);
  }
  return { size, file: new FormFile(await arriving.whole(), hash.digest()) };
}

/** A single field is its value, a repeated field is a list. */
function bodyValue(values: readonly unknown[], read: TextReader | undefined): unknown {
  const [value] = values;
  if (values.length > 1) return values;
  return typeof value === "string" && read !== undefined ? read(value) : value;
}

/** Any other error during the reading is the form's fault. */
function explain(error: unknown, rules: FormRules): ServiceError {
  if (error instanceof ServiceError) return error;
  const code = (error as { code?: string } | null)?.code ?? "";
  return TOO_LARGE.has(code) ? tooLarge(rules, error) : malformed(error);
}

function tooLarge({ maxBytes, maxFileBytes }: FormRules, cause?: unknown): ServiceError {
  const [whole, each] = [maxBytes, maxFileBytes].map((bytes) => `${Math.floor(bytes / MEGABYTE)} MB`);
  const { fields, files } = FORM_LIMITS;
  const message = `The form is too large: at most ${fields} fields and ${files} files of ${each} each, ${whole} together.`;
  return new ServiceError("body_too_large", message, { cause });
}

function malformed(cause: unknown): ServiceError {
  return new ServiceError("invalid_value", `The body is not a valid ${FORM_TYPE} form.`, { cause });
}
