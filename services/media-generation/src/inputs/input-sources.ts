// InputSources are the pictures of a request in any accepted form: files of a form, URLs, data URIs, or OpenAI's
// objects around one of these. A field has one or a list, under any of its names. Nothing is fetched or decoded here.
import { createHash } from "node:crypto";
import { ServiceError } from "@gr/proto";
import { ArrivingBytes, type FairWork, FormFile, loopTurns } from "@gr/runtime";
import type { InputPicture } from "../providers/provider.ts";
import { SLICE_DIGITS } from "../storage/base64-text.ts";

export type Role = InputPicture["role"];

/**
 * The names of the field for each role. `images` is OpenAI's for JSON, `input_reference` for videos. Messages use the
 * first one.
 */
const FIELDS = {
  image: ["image", "image[]", "images", "input_reference"],
  mask: ["mask", "mask[]"],
} as const;

/** Names of all fields with input pictures. */
export const INPUT_FIELDS = [...FIELDS.image, ...FIELDS.mask] as const;
export type InputFields = { readonly [Field in (typeof INPUT_FIELDS)[number]]?: unknown };

const MAX_EACH = 16;
const MAX_URL_CHARACTERS = 8_192;
const BASE64_MARK = ";base64";
/** Of one picture, as a file, decoded from a data URI, or fetched. */
export const MAX_PICTURE_BYTES = 25 * 1024 * 1024;

const MAX_URI_CHARACTERS = (MAX_PICTURE_BYTES / 3) * 4 + 1_000;

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
    const values = FIELDS[role].flatMap((field) => listed(fields[field]));
    if (values.length > MAX_EACH) {
      throw invalid(role, `${role}: at most ${MAX_EACH} may be sent, these are ${values.length}`);
    }
    return values.map((value, index) =>
      sourceOf(role, values.length === 1 ? role : `${role}[${index}]`, unwrapped(value)),
    );
  });
}

/** The picture of a data URI. @throws ServiceError; the signal's reason */
export async function bytesOfDataUri(
  source: Pick<InputSource, "role" | "label">,
  base64: string,
  work: FairWork,
): Promise<Buffer> {
  const arriving = new ArrivingBytes(0);
  for await (const slice of decodeDataUri(source, base64, work)) arriving.push(slice);
  return arriving.whole();
}

/** Decodes one slice in each turn of the loop. A slice is valid until the next one. @throws as bytesOfDataUri */
async function* decodeDataUri(
  { role, label }: Pick<InputSource, "role" | "label">,
  base64: string,
  work: FairWork,
): AsyncGenerator<Buffer> {
  const digits = base64.length - paddingOf(base64);
  const size = bytesIn(digits);
  if (size > MAX_PICTURE_BYTES) throw tooLarge(role, label);
  const notBase64 = () => invalid(role, `${label}: the data URI is not valid base64`);
  if (digits % 4 === 1 || size === 0) throw notBase64();
  // One buffer for all slices: V8 collects all garbage of the process after some 20 MB of new buffers.
  const room = Buffer.allocUnsafe(bytesIn(Math.min(digits, SLICE_DIGITS)));
  for (let at = 0; at < digits; at += SLICE_DIGITS) {
    const end = Math.min(digits, at + SLICE_DIGITS);
    const decode = () => room.subarray(0, room.write(base64.slice(at, end), "base64"));
    const isShort = digits <= SLICE_DIGITS;
    const slice = isShort ? decode() : await loopTurns.step({ ...work, cost: end - at }, decode);
    // The decoder skips any character that is no digit and stops at a further "=": then its result is shorter.
    if (slice.length !== bytesIn(end - at)) throw notBase64();
    yield slice;
  }
}

const bytesIn = (digits: number) => Math.floor((digits * 3) / 4);

/** Returns the number of "=" at the end, at most two. Reads two characters of a text of any length. */
function paddingOf(base64: string): 0 | 1 | 2 {
  if (!base64.endsWith("=")) return 0;
  return base64.endsWith("==") ? 2 : 1;
}

/** Returns the content of a picture for the fingerprint of its request. Equal pictures have equal content in each form. */
export async function* contentOf(
  sources: readonly InputSource[],
  work: FairWork,
): AsyncGenerator<string | Uint8Array> {
  for (const source of sources) {
    yield source.role;
    if (source.kind === "url") yield `url ${source.url}`;
    else if (source.kind === "file") yield source.file.sha256;
    else {
      const hash = createHash("sha256");
      for await (const slice of decodeDataUri(source, source.base64, work)) hash.update(slice);
      yield hash.digest();
    }
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
  // V8 joins all pieces of a text before it reads one character.
  if (value.length > MAX_URI_CHARACTERS) throw tooLarge(role, label);
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
