// Guarantees of the guard: it refuses repeated members at every depth and in every spelling, and excess over each
// limit. It does so for every split into chunks, and refuses nothing else.
import { ServiceError } from "@gr/proto";
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { guardJson, JSON_LIMITS, JsonGuard } from "./json-guard.ts";

function refusal(json: string): ServiceError | undefined {
  try {
    guardJson(Buffer.from(json));
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

/** Returns JSON text of the value; the member with the number `repeated` is repeated right behind. */
function textWith(value: unknown, repeated: number): { text: string; path: string | undefined } {
  let turn = 0;
  let path: string | undefined;
  const write = (part: unknown, at: string): string => {
    if (Array.isArray(part))
      return `[${part.map((item, index) => write(item, `${at}[${index}]`)).join(" ,")}]`;
    if (typeof part !== "object" || part === null) return JSON.stringify(part);
    const members = Object.entries(part).map(([name, item]) => {
      const here = at === "" ? name : `${at}.${name}`;
      const mine = turn === repeated;
      turn += 1;
      if (mine) path = here;
      const member = `${JSON.stringify(name)} : ${write(item, here)}`;
      return mine ? `${member},\n${escaped(name)}:null` : member;
    });
    return `{${members.join(",")}}`;
  };
  const text = write(value, "");
  return { text, path };
}

/** Another spelling of the same name. */
function escaped(name: string): string {
  const units = Array.from({ length: name.length }, (_, index) => name.charCodeAt(index));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("")}"`;
}

describe("a repeated member", () => {
  test.each([
    ['{"a":1,"a":2}', "a"],
    ['{"a":1,"a":1}', "a"],
    ['{"a":1,"b":2,"\\u0061":3}', "a"],
    ['{"":1,"":2}', ""],
    ['{"a":{"b":[{},{"c":1,"d":2,"c":3}]}}', "a.b[1].c"],
    ['[1,[{"x":1,"x":1}]]', "[1][0].x"],
    ['{"a":{"x":1},"b":{"x":1},"a":{}}', "a"],
    ['{"é":1,"\\u00e9":2}', "é"],
    ['{"a\\"":1,"b":"}{,\\\\","a\\"":2}', 'a"'],
  ])("in %s is refused, and the error names it", (json, name) => {
    const error = refusal(json);
    expect(error?.reason).toBe("invalid_json");
    if (/^[\w.[\]]+$/.test(name)) expect(error?.param).toBe(name);
    expect(error?.message).toMatch(/^The body has the field ".*" twice\.$/);
  });

  test("is found wherever it is, and JSON without one is not refused", () => {
    const name = fc.constantFrom("a", "b", "ab", "model", "toString", "constructor");
    const leaf = fc.constantFrom(1, true, null, "", '"', "\\", '\\"', '{"a":1,"a":2}', ',"a":', "]}", "é");
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        leaf,
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(name, tie("value"), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(value, fc.nat({ max: 12 }), (content, repeated) => {
        const { text, path } = textWith(content, repeated);
        JSON.parse(text);
        expect(refusal(text)?.param).toBe(path);
      }),
    );
  });

  test.each([
    ['{"__proto__":1}', "__proto__"],
    ['{"a":[{"b":1,"__proto__":{}}]}', "a[0].__proto__"],
    ['{"\\u005f_proto_\\u005f":null}', "__proto__"],
  ])("and one that is __proto__ is refused: %s", (json, name) => {
    expect(refusal(json)).toMatchObject({ reason: "invalid_json", param: name });
    expect(refusal(json)?.message).toMatch(/a name that no field may have\.$/);
    expect(refusal('{"a":"__proto__","b":["__proto__"],"proto":1}')).toBeUndefined();
  });

  test("behind a long string, whatever its escapes, is found", () => {
    for (const end of ["", "\\\\", '\\"', '\\\\\\"', "\\u0022", '\\"'.repeat(40)]) {
      for (const length of [29, 30, 31, 32, 33, 34, 200]) {
        const text = `{"t":"${"x".repeat(length)}${end}","a":1,"a":2}`;
        JSON.parse(text);
        expect(refusal(text)?.param).toBe("a");
      }
    }
  });

  test("with an enormous name is refused with the start of it", () => {
    const name = JSON.stringify("x".repeat(100_000));
    expect(refusal(`{${name}:1,${name}:2}`)?.message.length).toBeLessThan(300);
  });
});

test("whatever bytes come, the answer is none or a refusal", () => {
  const pieces = fc.constantFrom('"', "\\", ",", "{", "}", "[", "]", ":", '"a"', "\\u00", "\u0000", "é", "1");
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), (parts) => {
      expect(["invalid_json", undefined]).toContain(refusal(parts.join(""))?.reason);
    }),
  );
});

describe("a limit", () => {
  const { depth, values, members: fields, nameBytes, numberBytes } = JSON_LIMITS;
  const nested = (levels: number) => "[".repeat(levels);
  const members = (count: number) =>
    `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join()}}`;

  test.each([
    ["nested", nested(depth), nested(depth + 1)],
    ["nested", `${'{"a":['.repeat(depth / 2)}`, `${'{"a":['.repeat(depth / 2)}{`],
    ["values", `[${"1,".repeat(values - 1)}`, `[${"1,".repeat(values)}`],
    ["values", `[${"{},".repeat(values / 2 - 1)}`, `[${"{},".repeat(values / 2)}`],
    ["fields", members(fields), members(fields + 1)],
    ["name", `{"${"x".repeat(nameBytes)}":1}`, `{"${"x".repeat(nameBytes + 1)}":1}`],
    ["digits", `[${"1".repeat(numberBytes)}]`, `[${"1".repeat(numberBytes + 1)}`],
  ])("%s: what is within passes, one more is refused", (word, within, beyond) => {
    expect(refusal(within)).toBeUndefined();
    expect(refusal(beyond)).toMatchObject({ reason: "invalid_json", message: expect.stringContaining(word) });
  });

  test("counts nothing within strings, and forgets what has closed", () => {
    expect(refusal(`{"a":"${"[".repeat(1_000)}${",".repeat(values)}"}`)).toBeUndefined();
    expect(refusal(`[${"[[]],".repeat(1_000)}1]`)).toBeUndefined();
    expect(refusal(`["${"1".repeat(1_000_000)}"]`)).toBeUndefined();
  });

  test("refuses as soon as it is passed, whatever would come", () => {
    const guard = new JsonGuard();
    guard.push(Buffer.from(nested(depth)));
    expect(() => guard.push(Buffer.from("["))).toThrow(/nested more than 128 levels/);
  });
});

test("chunks make no difference", () => {
  const pieces = fc.constantFrom(
    '"',
    "\\",
    '\\"',
    ",",
    "{",
    "}",
    "[",
    "]",
    ":",
    '"a":',
    '"\\u0061":',
    "x".repeat(40),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 40 }), fc.array(fc.nat({ max: 9 })), (parts, sizes) => {
      const bytes = Buffer.from(`{${parts.join("")}`);
      const guard = new JsonGuard();
      const inChunks = () => {
        let at = 0;
        for (const size of sizes) {
          guard.push(bytes.subarray(at, at + size));
          at += size;
        }
        guard.push(bytes.subarray(at));
      };
      const whole = refusal(bytes.toString());
      if (whole === undefined) expect(inChunks).not.toThrow();
      else expect(inChunks).toThrow(expect.objectContaining({ message: whole.message, param: whole.param }));
    }),
  );
});
