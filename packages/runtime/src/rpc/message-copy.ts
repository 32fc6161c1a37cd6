// copyMessage copies a message as the other side of a network call would read it, without the bytes in between. The
// copy shares nothing with the original, and unset fields have their defaults. Values that the wire would change or
// refuse are sent through the wire format.
import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { scalarZeroValue } from "@bufbuild/protobuf/reflect";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { MAX_MESSAGE_BYTES } from "./rpc-limits.ts";

type Values = Record<string, unknown>;
type CopyMessage = (from: unknown) => Values;
type CopyValue = (value: unknown) => unknown;
/** Copies one field, or the one that is set of a group. */
type Put = (from: Values, to: Values) => void;

/** Thrown if the wire could change a value. */
const NOT_PLAIN = Symbol("not plain");
/** A tag with a length, or with a number. */
const BYTES_OF_A_FIELD = 16;
/** UTF-8 bytes of one UTF-16 unit, at most; a larger character has two units. */
const BYTES_OF_A_CHARACTER = 3;
const LARGEST_INT64 = 2n ** 63n - 1n;
const LARGEST_UINT64 = 2n ** 64n - 1n;
const LARGEST_INT32 = 2 ** 31 - 1;
const LARGEST_UINT32 = 2 ** 32 - 1;

const copiers = new WeakMap<DescMessage, CopyMessage>();
/** Upper bound for the wire bytes of the current message. */
let bytesAtMost = 0;

/** @throws ConnectError resource_exhausted if its wire format is too long; as `toBinary` if it has none */
export function copyMessage<Desc extends DescMessage>(
  desc: Desc,
  message: MessageInitShape<Desc>,
): MessageShape<Desc> {
  bytesAtMost = 0;
  try {
    const copy = copierOf(desc)(message);
    if (bytesAtMost <= MAX_MESSAGE_BYTES) return copy as MessageShape<Desc>;
  } catch (why) {
    if (why !== NOT_PLAIN) throw why;
  }
  const bytes = toBinary(desc, create(desc, message));
  if (bytes.byteLength > MAX_MESSAGE_BYTES) {
    throw new ConnectError(`message is larger than ${MAX_MESSAGE_BYTES} bytes`, Code.ResourceExhausted);
  }
  return fromBinary(desc, bytes);
}

function copierOf(desc: DescMessage): CopyMessage {
  const known = copiers.get(desc);
  if (known !== undefined) return known;
  const { typeName } = desc;
  // A message may have a field of its own type, so its fields are looked at when it is first copied. Google's own types have
  // other forms in code than on the wire.
  let puts: Put[] | undefined;
  const copier = (from: unknown): Values => {
    puts ??= typeName.startsWith("google.") ? [notPlain] : desc.members.map(putOf);
    if (!isRecord(from) || from["$unknown"] !== undefined) throw NOT_PLAIN;
    const to: Values = { $typeName: typeName };
    bytesAtMost += BYTES_OF_A_FIELD;
    for (const put of puts) put(from, to);
    return to;
  };
  copiers.set(desc, copier);
  return copier;
}

function putOf(member: DescField | DescOneof): Put {
  if (member.kind === "oneof") return putOneof(member);
  const { localName } = member;
  switch (member.fieldKind) {
    case "message":
      return putSet(localName, copierOf(member.message));
    case "list": {
      const copyItem = member.listKind === "message" ? copierOf(member.message) : copyScalar(member);
      return (from, to) => {
        const items = from[localName] ?? [];
        if (!Array.isArray(items)) throw NOT_PLAIN;
        to[localName] = items.map((item) => copyItem(item));
      };
    }
    case "map": {
      const copyItem = member.mapKind === "message" ? copierOf(member.message) : copyScalar(member);
      if (member.mapKey !== ScalarType.STRING) return notPlain;
      return (from, to) => {
        const items = from[localName] ?? {};
        if (!isRecord(items)) throw NOT_PLAIN;
        const entries = Object.entries(items);
        to[localName] = Object.fromEntries(entries.map(([key, item]) => [copyText(key), copyItem(item)]));
      };
    }
    default: {
      const copy = copyScalar(member);
      if (member.presence !== FeatureSet_FieldPresence.IMPLICIT) return putSet(localName, copy);
      const zero = zeroOf(member);
      return (from, to) => {
        const value = from[localName];
        to[localName] = value == null ? zero : copy(value);
      };
    }
  }
}

/** Copies a field that is absent if unset. */
function putSet(localName: string, copy: CopyValue): Put {
  return (from, to) => {
    const value = from[localName];
    if (value != null) to[localName] = copy(value);
  };
}

function putOneof({ localName, fields }: DescOneof): Put {
  const copiersByCase = new Map<unknown, CopyValue>(
    fields.map((field) => [
      field.localName,
      field.fieldKind === "message" ? copierOf(field.message) : copyScalar(field),
    ]),
  );
  return (from, to) => {
    const { case: which, value } = (from[localName] ?? {}) as { case?: unknown; value?: unknown };
    if (which == null) to[localName] = { case: undefined };
    else to[localName] = { case: which, value: (copiersByCase.get(which) ?? notPlain)(value) };
  };
}

function copyScalar({ scalar }: DescField): CopyValue {
  switch (scalar) {
    case ScalarType.STRING:
      return copyText;
    case ScalarType.BYTES:
      return copyBytes;
    case ScalarType.BOOL:
      return copyIf((value) => typeof value === "boolean");
    case ScalarType.DOUBLE:
      return copyIf((value) => typeof value === "number");
    case ScalarType.INT64:
      return copyIf(
        (value) => typeof value === "bigint" && value <= LARGEST_INT64 && value >= -LARGEST_INT64 - 1n,
      );
    case ScalarType.UINT64:
      return copyIf((value) => typeof value === "bigint" && value <= LARGEST_UINT64 && value >= 0n);
    case ScalarType.UINT32:
      return copyIf(
        (value) => Number.isInteger(value) && (value as number) <= LARGEST_UINT32 && (value as number) >= 0,
      );
    case ScalarType.INT32:
    // An enumeration, too.
    case undefined:
      return copyIf((value) => Number.isInteger(value) && Math.abs(value as number) <= LARGEST_INT32);
    default:
      return notPlain;
  }
}

function copyIf(isPlain: (value: unknown) => boolean): CopyValue {
  return (value) => {
    if (!isPlain(value)) throw NOT_PLAIN;
    bytesAtMost += BYTES_OF_A_FIELD;
    return value;
  };
}

/** Copies text; invalid Unicode would change on the wire. */
function copyText(value: unknown): string {
  if (typeof value !== "string" || !value.isWellFormed()) throw NOT_PLAIN;
  bytesAtMost += BYTES_OF_A_FIELD + BYTES_OF_A_CHARACTER * value.length;
  return value;
}

function copyBytes(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw NOT_PLAIN;
  bytesAtMost += BYTES_OF_A_FIELD + value.byteLength;
  return new Uint8Array(value);
}

/** Returns the default of a field that always exists. */
function zeroOf(field: DescField): unknown {
  if (field.fieldKind === "enum") return field.enum.values[0]?.number;
  if (field.fieldKind !== "scalar") return undefined;
  return scalarZeroValue(field.scalar, false);
}

function notPlain(): never {
  throw NOT_PLAIN;
}

function isRecord(value: unknown): value is Values {
  return typeof value === "object" && value !== null;
}
