// Base64 in slices: the bytes and the text are the same as in one piece, and all other work runs between two slices.
import { Readable } from "node:stream";
import { expect, test } from "@jest/globals";
import { jsonBody } from "../providers/json-body.ts";
import { Base64Text, decodedPieces } from "./base64-text.ts";

const LENGTHS = [0, 1, 2, 3, 196_607, 196_608, 196_609, 600_001];
const arrayOf = (pieces: AsyncIterable<Buffer>): Promise<Buffer[]> => Readable.from(pieces).toArray();
const bytesOf = (length: number) => Buffer.alloc(length, "some bytes of a picture");

test.each(LENGTHS)("%i bytes are the same after decoding in slices, also a second time", async (length) => {
  const bytes = bytesOf(length);
  const pieces = decodedPieces(bytes.toString("base64"));
  for (let time = 0; time < 2; time += 1) {
    expect(Buffer.concat(await arrayOf(pieces)).equals(bytes)).toBe(true);
  }
});

test("a text with line breaks is decoded as Buffer.from does", async () => {
  const bytes = bytesOf(600_001);
  const lines = bytes.toString("base64").replaceAll(/.{76}/g, "$&\r\n");
  expect(Buffer.concat(await arrayOf(decodedPieces(lines))).equals(bytes)).toBe(true);
});

test.each(LENGTHS)(
  "a JSON body with %i bytes as base64 is what JSON.stringify makes of it",
  async (length) => {
    const bytes = bytesOf(length);
    const bodyWith = (of: (prefix?: string) => unknown) => ({
      prompt: 'é"\\',
      first: of("data:image/png;base64,"),
      list: [of(), "end"],
    });
    const body = jsonBody(bodyWith((prefix) => new Base64Text(bytes, prefix)));
    if (typeof body === "string") throw new Error("it is one text");
    const sent = Buffer.concat(await arrayOf(body.pieces));
    expect(sent.length).toBe(body.length);
    const text = JSON.stringify(bodyWith((prefix = "") => prefix + bytes.toString("base64")));
    expect(sent.toString() === text).toBe(true);
  },
);

test("a JSON body without pictures is one text", () => {
  expect(jsonBody({ prompt: "a" })).toBe('{"prompt":"a"}');
});

test("all other work runs between two slices", async () => {
  const bytes = bytesOf(3_000_000);
  let pauses = 0;
  const count = () => {
    pauses += 1;
    pending = setImmediate(count);
  };
  let pending = setImmediate(count);
  const text = Buffer.concat(await arrayOf(new Base64Text(bytes).pieces()));
  const encoding = pauses;
  await arrayOf(decodedPieces(text.toString()));
  clearImmediate(pending);
  expect(encoding).toBeGreaterThanOrEqual(10);
  expect(pauses - encoding).toBeGreaterThanOrEqual(10);
});
