// The byte scanner against JSON.parse, for any JSON text.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { jsonObjectText } from "../test/json-text.ts";
import { findMember, scanObject, valueText } from "./json-members.ts";

describe("the members of a JSON object", () => {
  test("are those that JSON.parse finds, key by key and value by value", () => {
    fc.assert(
      fc.property(jsonObjectText(), (text) => {
        const json = Buffer.from(text);
        const layout = scanObject(json);
        const found: Record<string, unknown> = Object.create(null);
        for (const member of layout.members) {
          const key: string = JSON.parse(`"${json.toString("utf8", member.keyStart, member.keyEnd)}"`);
          found[key] = JSON.parse(valueText(json, member));
        }
        const parsed: object = JSON.parse(text);
        expect(Object.entries(found)).toEqual(Object.entries(parsed));
        expect(json[layout.open]).toBe(0x7b);
        expect(json.toString("utf8", layout.close).trim()).toBe("}");
      }),
      { numRuns: 2_000 },
    );
  });

  test("are found by name as JSON.parse would keep them: the last, however it is spelt", () => {
    fc.assert(
      fc.property(jsonObjectText(["model", "model", "cost"]), (text) => {
        const json = Buffer.from(text);
        const parsed = JSON.parse(text) as Record<string, unknown>;
        for (const name of ["model", "cost", "usage"]) {
          const member = findMember(json, scanObject(json), name);
          expect(member === undefined).toBe(!Object.hasOwn(parsed, name));
          if (member !== undefined) expect(JSON.parse(valueText(json, member))).toEqual(parsed[name]);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test("are counted, so that a key which is there twice is noticed", () => {
    const twice = Buffer.from('{"model":"a","\\u006dodel":"b"}');
    expect(scanObject(twice).members).toHaveLength(2);
    expect(Object.keys(JSON.parse(twice.toString()))).toHaveLength(1);
  });

  test("are found behind long strings that end in any number of backslashes", () => {
    for (let backslashes = 0; backslashes < 8; backslashes += 1) {
      for (const length of [0, 20, 30, 31, 32, 33, 34, 200]) {
        const value = `${"x".repeat(length)}${"\\".repeat(backslashes)}"`.repeat(2);
        const json = Buffer.from(JSON.stringify({ first: value, second: 2 }));
        const member = findMember(json, scanObject(json), "second");
        expect(member === undefined ? undefined : valueText(json, member)).toBe("2");
      }
    }
  });

  test("of bytes that are no JSON end in an error or a layout within the bytes, never in a loop", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
          fc.tuple(jsonObjectText(), fc.nat()).map(([text, cut]) => {
            const json = Buffer.from(text);
            return json.subarray(0, cut % (json.length + 1));
          }),
        ),
        (json) => {
          try {
            expect(scanObject(json).close).toBeLessThan(json.length);
          } catch (error) {
            expect(error).toBeInstanceOf(RangeError);
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test("nested a hundred thousand deep are skipped without recursion", () => {
    const deep = Buffer.from(`{"a":${"[".repeat(100_000)}${"]".repeat(100_000)},"b":1}`);
    expect(scanObject(deep).members).toHaveLength(2);
  });
});
