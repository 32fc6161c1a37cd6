// Splices against JSON.parse: one value changes, every other byte stays.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { jsonObjectText } from "../test/json-text.ts";
import { scanObject } from "./json-members.ts";
import { applySplices, setMember } from "./json-splice.ts";

describe("setting a member", () => {
  test("changes this member alone, in the text and in its meaning", () => {
    fc.assert(
      fc.property(jsonObjectText(["cost"]), fc.constantFrom("0.0001", '{"a":1}', '"é"'), (text, value) => {
        const json = Buffer.from(text);
        const splice = setMember(json, scanObject(json), "cost", value);
        const changed = applySplices(json, [splice]).toString();
        expect(JSON.parse(changed)).toEqual({ ...JSON.parse(text), cost: JSON.parse(value) });
        const before = json.toString("utf8", 0, splice.start);
        const after = json.toString("utf8", splice.end);
        expect(changed.startsWith(before)).toBe(true);
        expect(changed.endsWith(after)).toBe(true);
        expect(changed.length).toBe(before.length + splice.text.length + after.length);
      }),
      { numRuns: 2_000 },
    );
  });

  test("of two at once, in whatever order they are given", () => {
    fc.assert(
      fc.property(jsonObjectText(["cost", "model"]), fc.boolean(), (text, swapped) => {
        const json = Buffer.from(text);
        const layout = scanObject(json);
        fc.pre(layout.members.length > 0);
        const splices = [setMember(json, layout, "cost", "1"), setMember(json, layout, "model", '"m"')];
        const changed = applySplices(json, swapped ? splices.toReversed() : splices).toString();
        expect(JSON.parse(changed)).toEqual({ ...JSON.parse(text), cost: 1, model: "m" });
      }),
    );
  });

  test("keeps bytes that are no valid UTF-8 as they are", () => {
    const json = Buffer.concat([Buffer.from('{"text":"'), Buffer.from([0xff, 0xc3]), Buffer.from('"}')]);
    const changed = applySplices(json, [setMember(json, scanObject(json), "cost", "1")]);
    expect(changed.subarray(0, json.length - 1)).toEqual(json.subarray(0, json.length - 1));
  });
});
