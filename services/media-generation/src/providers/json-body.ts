// JsonBody encodes pictures as base64 while it is sent to a provider. A body in one text would block the loop, and would be in
// memory beside the pictures.
import { randomUUID } from "node:crypto";
import { Base64Text } from "../storage/base64-text.ts";

/** Members of a body: JSON, and a Base64Text where a picture is. */
export type JsonFields = Record<string, unknown>;

export interface JsonBody {
  /** Bytes. */
  readonly length: number;
  readonly pieces: AsyncIterable<Buffer>;
}

/** @returns the whole text of a body without a Base64Text */
export function jsonBody(json: object): string | JsonBody {
  // A prompt cannot contain it, because no caller learns it.
  const place = randomUUID();
  const pictures: Base64Text[] = [];
  const text = JSON.stringify(json, (_name, value: unknown) => {
    if (!(value instanceof Base64Text)) return value;
    pictures.push(value);
    return place;
  });
  if (pictures.length === 0) return text;
  const around = text.split(place).map((part) => Buffer.from(part));
  const length = [...around, ...pictures].reduce((sum, part) => sum + part.length, 0);
  return { length, pieces: piecesOf(around, pictures) };
}

async function* piecesOf(around: readonly Buffer[], pictures: readonly Base64Text[]): AsyncGenerator<Buffer> {
  for (const [index, part] of around.entries()) {
    yield part;
    const picture = pictures[index];
    if (picture !== undefined) yield* picture.pieces();
  }
}
