// Binary rows own PostgreSQL's binary format of an array of composites, the form in which the writer sends a batch. Text
// forms of the same rows cost PostgreSQL up to twice as much.

const OIDS = { uuid: 2950, int8: 20, int4: 23, int2: 21, text: 25, bytea: 17 } as const;
type ColumnType = keyof typeof OIDS;

/** Column of a composite type, in its order. */
export interface Column<Name extends string = string> {
  readonly name: Name;
  readonly type: ColumnType;
}

export type Value = string | number | bigint | Buffer | null;

/** Bytes of the header of an array with one dimension. */
const ARRAY_HEADER = 20;
/** Bytes of type and length in front of a value. */
const FIELD_HEADER = 8;

/** @param columns groups of names, separated by blanks, in the order of the composite type */
export function columnsOf<Name extends string>(
  groups: readonly (readonly [type: ColumnType, names: readonly Name[]])[],
): Column<Name>[] {
  return groups.flatMap(([type, names]) => names.map((name) => ({ name, type })));
}

/** Encodes an array. Every row has one value for each column. @param oid of the composite type */
export function encodeRows(
  columns: readonly Column[],
  rows: readonly (readonly Value[])[],
  oid: number,
): Buffer {
  return encodeArray(
    rows.map((row) => encodeRow(columns, row)),
    oid,
  );
}

/** @param elements encoded by `encodeRow` @param oid of the composite type */
export function encodeArray(elements: readonly Buffer[], oid: number): Buffer {
  const header = Buffer.alloc(elements.length === 0 ? ARRAY_HEADER - 8 : ARRAY_HEADER);
  writeArrayHeader(header, elements.length, oid);
  return Buffer.concat([header, ...elements]);
}

/** @returns the offset behind the header */
export function writeArrayHeader(target: Buffer, length: number, oid: number): number {
  target.writeInt32BE(length === 0 ? 0 : 1, 0);
  target.writeInt32BE(0, 4);
  target.writeInt32BE(oid, 8);
  if (length === 0) return ARRAY_HEADER - 8;
  target.writeInt32BE(length, 12);
  target.writeInt32BE(1, 16);
  return ARRAY_HEADER;
}

/** Encodes one element of an array, with its length in front. */
export function encodeRow(columns: readonly Column[], row: readonly Value[]): Buffer {
  const values = columns.map(({ type }, index) => encodeValue(type, row[index] ?? null));
  const sizeBytes = values.reduce((sum, value) => sum + FIELD_HEADER + (value?.length ?? 0), FIELD_HEADER);
  const target = Buffer.alloc(sizeBytes);
  target.writeInt32BE(sizeBytes - 4, 0);
  target.writeInt32BE(columns.length, 4);
  let at = FIELD_HEADER;
  for (const [index, { type }] of columns.entries()) {
    const value = values[index];
    target.writeInt32BE(OIDS[type], at);
    target.writeInt32BE(value?.length ?? -1, at + 4);
    at += FIELD_HEADER + (value?.copy(target, at + FIELD_HEADER) ?? 0);
  }
  return target;
}

/** @returns for each column the offset of its value in an element; -1 = null */
export function offsetsIn(columns: readonly Column[], element: Buffer): Int32Array {
  const offsets = new Int32Array(columns.length);
  let at = FIELD_HEADER;
  for (let index = 0; index < columns.length; index += 1) {
    const length = element.readInt32BE(at + 4);
    offsets[index] = length < 0 ? -1 : at + FIELD_HEADER;
    at += FIELD_HEADER + Math.max(length, 0);
  }
  return offsets;
}

const DASH = "-".charCodeAt(0);
/** Value of each hexadecimal digit, by its character code. */
const DIGITS = new Uint8Array(128);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  DIGITS[digit.charCodeAt(0)] = value;
  DIGITS[digit.toUpperCase().charCodeAt(0)] = value;
}

/** @param id valid UUID */
export function writeUuid(target: Buffer, id: string, at: number): void {
  let to = at;
  for (let from = 0; from < id.length; from += 1) {
    const first = id.charCodeAt(from);
    if (first === DASH) continue;
    from += 1;
    target[to] = ((DIGITS[first] ?? 0) << 4) | (DIGITS[id.charCodeAt(from)] ?? 0);
    to += 1;
  }
}

/** @throws RangeError if the row would hold another number than the memory of its writer, as for a fraction */
export function writeInt8(target: Buffer, value: number, at: number): void {
  if (!Number.isSafeInteger(value))
    throw new RangeError(`The ledger stores whole numbers; ${value} is none.`);
  target.writeInt32BE(Math.floor(value / 2 ** 32), at);
  target.writeUInt32BE(value >>> 0, at + 4);
}

/** Writes the common amounts without the temporary objects of a big integer. @throws RangeError beyond 64 bits */
export function writeAmount(target: Buffer, value: bigint, at: number): void {
  if (value >= MIN_SAFE && value <= MAX_SAFE) writeInt8(target, Number(value), at);
  else target.writeBigInt64BE(value, at);
}

const MIN_SAFE = BigInt(Number.MIN_SAFE_INTEGER);
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

function encodeValue(type: ColumnType, value: Value): Buffer | undefined {
  if (value === null) return undefined;
  if (Buffer.isBuffer(value)) return value;
  if (typeof value === "string") {
    return type === "uuid" ? Buffer.from(value.replaceAll("-", ""), "hex") : Buffer.from(value, "utf8");
  }
  const bytes = Buffer.alloc(type === "int8" ? 8 : type === "int4" ? 4 : 2);
  if (type === "int8") bytes.writeBigInt64BE(BigInt(value));
  else if (type === "int4") bytes.writeInt32BE(Number(value));
  else bytes.writeInt16BE(Number(value));
  return bytes;
}
