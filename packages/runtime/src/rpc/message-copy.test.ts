// Guarantee of message copies: for every content of our messages, the copy equals the message read from the wire.
import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  ScalarType,
  toBinary,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import * as billing from "@gr/proto/billing";
import * as catalog from "@gr/proto/catalog";
import * as keys from "@gr/proto/keys";
import * as media from "@gr/proto/media";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { copyMessage } from "./message-copy.ts";
import { MAX_MESSAGE_BYTES } from "./rpc-limits.ts";

type Init = Record<string, unknown>;

const DEEPEST = 4;
const messages = [billing, catalog, keys, media]
  .flatMap((room) => Object.values(room) as unknown[])
  .filter((one): one is DescMessage => (one as DescMessage | undefined)?.kind === "message");

describe.each(messages.map((desc) => [desc.typeName, desc] as const))("%s", (_, desc) => {
  test("is copied as the wire would", () => {
    fc.assert(
      fc.property(initOf(desc, DEEPEST), (init) => {
        const overTheWire = fromBinary(desc, toBinary(desc, create(desc, init)));
        expect(copyMessage(desc, init)).toStrictEqual(overTheWire);
        expect(copyMessage(desc, overTheWire)).toStrictEqual(overTheWire);
      }),
      { numRuns: 20, seed: 7 },
    );
  });
});

const {
  GetCreditsRequestSchema: request,
  KeptAnswerSchema: answer,
  PutDepositRequestSchema: deposit,
} = billing;

test("half a character is what the wire makes of it", () => {
  expect(copyMessage(request, { accountId: "\ud800" }).accountId).toBe("\ufffd");
});

test("nothing of it is shared", () => {
  const body = Buffer.from("kept");
  const copy = copyMessage(answer, { body });
  body.fill(0);
  expect(Buffer.from(copy.body).toString()).toBe("kept");
});

test("what the wire has no form for is refused", () => {
  expect(() => copyMessage(deposit, { credits: 2n ** 63n })).toThrow("credits");
});

test("it is refused from the same length on as on the wire", () => {
  // Each character counts as three bytes until it is looked at closely.
  const long = "a".repeat(MAX_MESSAGE_BYTES - 100);
  expect(copyMessage(request, { accountId: long }).accountId).toBe(long);
  expect(() => copyMessage(request, { accountId: `${long}${"a".repeat(100)}` })).toThrow("is larger than");
});

/** Returns any values that the message can have. @param levels of messages within messages that may still follow */
function initOf(desc: DescMessage, levels: number): fc.Arbitrary<Init> {
  if (desc.typeName.startsWith("google.")) return fc.constant({});
  const entries = desc.members.map((member): [string, fc.Arbitrary<unknown>] => {
    if (member.kind !== "oneof") return [member.localName, fieldOf(member, levels)];
    const cases = member.fields.map((field) =>
      singleOf(field, levels).map((value) => ({ case: field.localName, value })),
    );
    return [member.localName, fc.oneof(fc.constant({ case: undefined }), ...cases)];
  });
  return fc.record(Object.fromEntries(entries), { requiredKeys: [] });
}

function fieldOf(field: DescField, levels: number): fc.Arbitrary<unknown> {
  if (field.fieldKind === "list") {
    return levels === 0 ? fc.constant([]) : fc.array(singleOf(field, levels), { maxLength: 3 });
  }
  if (field.fieldKind === "map") {
    const names = fc.string({ unit: "binary" }).filter((name) => name !== "__proto__" && name.isWellFormed());
    return levels === 0 ? fc.constant({}) : fc.dictionary(names, singleOf(field, levels), { maxKeys: 3 });
  }
  const isAlwaysThere = field.presence === FeatureSet_FieldPresence.IMPLICIT;
  if (isAlwaysThere) return singleOf(field, levels);
  if (levels === 0) return fc.constant(undefined);
  return fc.option(singleOf(field, levels), { nil: undefined });
}

function singleOf(field: DescField, levels: number): fc.Arbitrary<unknown> {
  if (field.message !== undefined) return initOf(field.message, Math.max(0, levels - 1));
  switch (field.scalar) {
    case ScalarType.STRING:
      return fc.string({ unit: "binary" }).map((text) => text.toWellFormed());
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 9 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.DOUBLE:
      return fc.double();
    case ScalarType.INT64:
      return fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    case ScalarType.UINT64:
      return fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
    case ScalarType.UINT32:
      return fc.integer({ min: 0, max: 2 ** 32 - 1 });
    default:
      return fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  }
}
