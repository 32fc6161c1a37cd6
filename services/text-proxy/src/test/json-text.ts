// Any JSON object, written in any way that JSON allows: whitespace anywhere, any character escaped or not, numbers
// in their odder spellings, and the same key more than once.
import fc from "fast-check";

const spaces = fc
  .array(fc.constantFrom(" ", "\t", "\n", "\r"), { maxLength: 2 })
  .map((list) => list.join(""));
const numbers = fc.constantFrom(
  "0",
  "-0",
  "1e-7",
  "0.30000000000000004",
  "1E+2",
  "12345678901234567890",
  "-1.5e3",
);

/** Text of an object with some keys from `names`. */
export function jsonObjectText(names: readonly string[] = []): fc.Arbitrary<string> {
  const key = fc.oneof(
    fc.constantFrom("a", "usage", "", ...names),
    fc.string({ unit: "binary", maxLength: 6 }),
  );
  const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      numbers,
      fc.constantFrom("true", "false", "null", "[]", "{}", "[ ]", "{\n}"),
      fc.integer().map(String),
      text(fc.string({ unit: "binary", maxLength: 60 })),
      fc.array(padded(tie("value")), { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
      tie("object"),
    ),
    object: object(key, tie("value")),
  }));
  return fc
    .tuple(spaces, object(key, value), spaces)
    .map(([before, written, after]) => before + written + after);
}

function object(key: fc.Arbitrary<string>, value: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const member = fc.tuple(padded(text(key)), padded(value)).map(([name, written]) => `${name}:${written}`);
  return fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(",")}}`);
}

function padded(written: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(spaces, written, spaces).map((parts) => parts.join(""));
}

/** A JSON string with any of its characters escaped, needed or not. */
function text(content: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.tuple(content, fc.array(fc.boolean(), { maxLength: 60 })).map(([plain, escaped]) => {
    const units = [...plain].map((unit, index) => {
      const shortest = JSON.stringify(unit).slice(1, -1);
      return escaped[index] === true && !shortest.startsWith("\\") ? escapeUnits(unit) : shortest;
    });
    return `"${units.join("")}"`;
  });
}

function escapeUnits(character: string): string {
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
