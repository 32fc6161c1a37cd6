// InputSources are the pictures of a request in any accepted form: files of a form, URLs, data URIs, or OpenAI's
// objects around one of these. A field has one or a list, under any of its names. Nothing is fetched or decoded here.
import { createHash } from "node:crypto";
import { ServiceError } from "@gr/proto";
import type { InputPicture } from "../providers/provider.ts";

export type Role = InputPicture["role"];

/** The names of the field for each role. `images` is OpenAI's for JSON. Messages use the first one. */
const FIELDS = { image: ["image", "image[]", "images"], mask: ["mask", "mask[]"] } as const;

/** Names of all fields with input pictures. */
export const INPUT_FIELDS = [...FIELDS.image, ...FIELDS.mask] as const;
export type InputFields = { readonly [Field in (typeof INPUT_FIELDS)[number]]?: unknown };

const MAX_EACH = 16;
const MAX_URL_CHARACTERS = 8_192;
const BASE64_MARK = ";base64";
const NOTHING = Buffer.alloc(0);
/** Size limit of one picture, as a file, decoded from a data URI, or fetched, in bytes. */
export const MAX_PICTURE_BYTES = 25 * 1024 * 1024;

/** A file from a part of a form. */
export class FormFile {
  readonly sha256: Buffer;
  #bytes: Buffer;

  constructor(bytes: Buffer, sha256: Buffer) {
    this.#bytes = bytes;
    this.sha256 = sha256;
  }

  /** Moves the bytes out of the form, which outlives them and must not hold them. */
  take(): Buffer {
    const bytes = this.#bytes;
    this.#bytes = Buffer.alloc(0);
    return bytes;
  }
}

export type InputSource = {
  readonly role: Role;
  /** Name in messages: "image[2]", or "image" for a single one. */
  readonly label: string;
} & (
  | { readonly kind: "file"; readonly file: FormFile }
  | { readonly kind: "url"; readonly url: string }
  /** `base64` is the text of the URI after its comma. */
  | { readonly kind: "data"; readonly base64: string }
);

/**
 * Returns the pictures in the client's order, images before masks. @throws ServiceError that names the field at fault
 */
export function inputSources(fields: InputFields): InputSource[] {
  return (["image", "mask"] as const).flatMap((role) => {
    const given = FIELDS[role].flatMap((field) => listed(fields[field]));
    if (given.length > MAX_EACH) {
      throw invalid(role, `${role}: at most ${MAX_EACH} may be sent, these are ${given.length}`);
    }
    return given.map((value, index) =>
      sourceOf(role, given.length === 1 ? role : `${role}[${index}]`, unwrapped(value)),
    );
  });
}

/** Decodes the picture of a data URI. @throws ServiceError */
export function bytesOfDataUri({ role, label }: Pick<InputSource, "role" | "label">, base64: string): Buffer {
  const digits = base64.slice(0, base64.length - paddingOf(base64));
  const size = Math.floor((digits.length * 3) / 4);
  if (size > MAX_PICTURE_BYTES) throw tooLarge(role, label);
  // Decoding skips characters that are no digits and ends at a second "=": the result then has fewer bytes.
  const bytes = digits.length % 4 === 1 ? NOTHING : Buffer.from(digits, "base64");
  if (bytes.length !== size || size === 0) throw invalid(role, `${label}: the data URI is not valid base64`);
  return bytes;
}

/** Returns the number of "=" at the end, at most two. Reads only the last two characters. */
function paddingOf(base64: string): 0 | 1 | 2 {
  if (!base64.endsWith("=")) return 0;
  return base64.endsWith("==") ? 2 : 1;
}

/** Yields equal contents for equal requests, in any form of their pictures. */
export function* contentOf(sources: readonly InputSource[]): Iterable<string | Uint8Array> {
  for (const source of sources) {
    yield source.role;
    if (source.kind === "url") yield `url ${source.url}`;
    else if (source.kind === "file") yield source.file.sha256;
    else yield createHash("sha256").update(bytesOfDataUri(source, source.base64)).digest();
  }
}

export function tooLarge(role: Role, label: string): ServiceError {
  const most = `${MAX_PICTURE_BYTES / (1024 * 1024)} MB`;
  return new ServiceError("invalid_image", `${label}: the picture is larger than ${most}.`, { param: role });
}

/** Null, undefined and an empty text mean no picture: forms also send their empty fields. */
function listed(value: unknown): readonly unknown[] {
  if (value === undefined || value === null || value === "") return [];
  return Array.isArray(value) ? value : [value];
}

/** Returns the URL in OpenAI's `{"image_url": "…"}`, and any other value unchanged. */
function unwrapped(value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !(value instanceof FormFile);
  return isObject && "image_url" in value ? value.image_url : value;
}

function sourceOf(role: Role, label: string, value: unknown): InputSource {
  const source = { role, label };
  if (value instanceof FormFile) return { ...source, kind: "file", file: value };
  if (typeof value !== "string")
    throw invalid(role, `${label}: must be a URL, a data URI, a file of a form, or {"image_url": <URL>}`);
  if (/^data:/i.test(value)) return { ...source, kind: "data", base64: base64Of(source, value) };
  if (value.length > MAX_URL_CHARACTERS) {
    throw invalid(role, `${label}: a URL may have at most ${MAX_URL_CHARACTERS} characters`);
  }
  if (URL.parse(value) === null) throw invalid(role, `${label}: is neither a URL nor a data URI`);
  return { ...source, kind: "url", url: value };
}

/** Ignores the declared media type: the bytes decide. */
function base64Of({ role, label }: Pick<InputSource, "role" | "label">, uri: string): string {
  const comma = uri.indexOf(",");
  const mark = uri.slice(Math.max(0, comma - BASE64_MARK.length), Math.max(0, comma));
  if (mark.toLowerCase() !== BASE64_MARK) {
    throw invalid(role, `${label}: a data URI must be data:image/<type>;base64,<digits>`);
  }
  return uri.slice(comma + 1);
}

function invalid(role: Role, message: string): ServiceError {
  return new ServiceError("invalid_value", `${message}.`, { param: role });
}
