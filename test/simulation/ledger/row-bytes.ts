// Row bytes own the way back from PostgreSQL's binary form of an array of composites, in which the writer sends its rows.
import type { Column } from "@gr/billing/simulated";

export type Value = bigint | number | string | Buffer | null;

const ARRAY_HEADER = 20;
/** Bytes of the length and the number of fields in front of a row. */
const ROW_HEADER = 8;
/** Bytes of type and length in front of a value. */
const FIELD_HEADER = 8;

/** @param bytes of an array; @returns rows by name of the column, with the values that the driver would return */
export function readRows<Row>(columns: readonly Column[], bytes: Buffer): Row[] {
  const length = bytes.readInt32BE(0) === 0 ? 0 : bytes.readInt32BE(12);
  const rows: Row[] = [];
  let at = ARRAY_HEADER;
  for (let index = 0; index < length; index += 1) {
    at += ROW_HEADER;
    const row: Record<string, Value> = {};
    for (const { name, type } of columns) {
      const size = bytes.readInt32BE(at + 4);
      at += FIELD_HEADER;
      row[name] = size < 0 ? null : readValue(type, bytes, at, size);
      at += Math.max(size, 0);
    }
    rows.push(row as Row);
  }
  return rows;
}

function readValue(type: Column["type"], bytes: Buffer, at: number, size: number): Value {
  switch (type) {
    case "uuid":
      return uuidOf(bytes.toString("hex", at, at + size));
    case "int8":
      return bytes.readBigInt64BE(at);
    case "int4":
      return bytes.readInt32BE(at);
    case "int2":
      return bytes.readInt16BE(at);
    case "text":
      return bytes.toString("utf8", at, at + size);
    case "bytea":
      return bytes.subarray(at, at + size);
  }
}

function uuidOf(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
