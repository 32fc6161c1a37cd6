// JSON text by schema: right, wrong in some places, or broken. As text, since the inputs on which parsers disagree (a
// repeated name, 1e400, half a character) have no printable value.
import fc from "fast-check";
import { notBodies } from "../e2e/bad-values.ts";
import { brokenBytes } from "../e2e/body-grammar.ts";
import { kindOf, knownValue, undescribed } from "./known-values.ts";
import type { Description, Operation, Schema } from "./operations.ts";

type Members = readonly (readonly [name: string, text: string])[];

const DEEPEST = 4;

const oddities = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ..."null true false 0 -0 -1 1.5 1e-7 1e21 1e400 -1e400 9007199254740993 0.30000000000000004".split(" "),
      ...[
        '""',
        '" "',
        '"\\u0000"',
        '"\\ud800"',
        '"__proto__"',
        '"constructor"',
        "[]",
        "{}",
        "[[]]",
        "[null]",
      ],
      ...['{"__proto__":1}', '{"a":1,"a":2}', "NaN", "01", "+1", ".5", "'a'", "undefined", '"\t"'],
      `"${"x".repeat(3_000)}"`,
      `${"[".repeat(100)}${"]".repeat(100)}`,
      `${"[".repeat(200)}${"]".repeat(200)}`,
    ),
  },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)) },
);

const space = fc.constantFrom("", "", "", "", " ", "\n", "\t", "\r\n  ");

/** Draws a value that the schema accepts, as far as a schema defines that. */
function rightValue(
  schema: Schema,
  name: string,
  path: string,
  description: Description,
  depth = 0,
): fc.Arbitrary<string> {
  const known = knownValue(name, path);
  if (known !== undefined) return known;
  const { anyOf, oneOf: one, const: only, enum: choices, type, ...rest } = description.resolve(schema);
  const among = anyOf ?? one;
  if (depth > DEEPEST) return fc.constant("null");
  const inner = (part: Schema, of: string) => rightValue(part, of, path, description, depth + 1);
  if (among !== undefined) return fc.oneof(...among.map((part) => inner(part, "")));
  if (only !== undefined) return fc.constant(JSON.stringify(only));
  if (choices !== undefined) return fc.constantFrom(...choices.map((value) => JSON.stringify(value)));
  if (Array.isArray(type)) return fc.oneof(...type.map((each: string) => inner({ ...rest, type: each }, "")));
  switch (type) {
    case "string":
      return fc.string({ minLength: rest.minLength ?? 0 }).map((text) => JSON.stringify(text));
    case "integer":
      return fc.integer({ min: rest.minimum ?? 0, max: Math.min(rest.maximum ?? 1_000, 1_000) }).map(String);
    case "number":
      return fc.double({ min: rest.minimum ?? 0, max: rest.maximum ?? 1e6, noNaN: true }).map(String);
    case "boolean":
      return fc.constantFrom("true", "false", "false");
    case "null":
      return fc.constant("null");
    case "array":
      return fc.array(inner(rest.items ?? {}, ""), { maxLength: 3 }).map((items) => `[${items.join()}]`);
    case "object":
      return membersOf(rest, path, description, depth + 1).map(printed);
    default:
      return oddities;
  }
}

const printed = (members: Members) =>
  `{${members.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join()}}`;

/** Draws required fields always, others sometimes. */
function membersOf(
  { properties = {}, required = [] }: Schema,
  path: string,
  description: Description,
  depth: number,
): fc.Arbitrary<Members> {
  const more = depth === 0 ? undescribed[kindOf(path)].map((name): [string, Schema] => [name, {}]) : [];
  const all = [...Object.entries(properties), ...more].map(([name, schema]) => {
    const member = rightValue(schema, name, path, description, depth).map((text) => [[name, text] as const]);
    // The code requires a prompt, not the schema: edits need none.
    if (required.includes(name) || name === "prompt") return member;
    return fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: member });
  });
  return fc.tuple(...all).map((found) => found.flat());
}

interface Fault {
  readonly how: "replace" | "drop" | "double" | "rename" | "add";
  readonly at: number;
  readonly text: string;
  readonly name: string;
}

const faults: fc.Arbitrary<readonly Fault[]> = fc.array(
  fc.record({
    how: fc.constantFrom<Fault["how"]>("replace", "replace", "replace", "drop", "double", "rename", "add"),
    at: fc.nat(),
    text: oddities,
    name: fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "Model", "models", "background")),
  }),
  { minLength: 1, maxLength: 3 },
);

function withFaults(members: Members, wrong: readonly Fault[]): Members {
  let result = [...members];
  for (const { how, at, text, name } of wrong) {
    const index = result.length === 0 ? 0 : at % result.length;
    const [old = name, value = text] = result[index] ?? [];
    if (how === "replace") result[index] = [old, text];
    if (how === "drop") result = result.filter((_, other) => other !== index);
    if (how === "double") result.push([old, value]);
    if (how === "rename") result[index] = [name, value];
    if (how === "add") result.push([name, text]);
  }
  return result;
}

/** Draws a body for the operation, and whether it is intended to be right. */
export function bodyFor(
  operation: Operation,
  schema: Schema,
  description: Description,
): fc.Arbitrary<Buffer> {
  const members = membersOf(description.resolve(schema), operation.path, description, 0);
  const right = fc.tuple(members, space, fc.boolean()).map(([all, gap, turned]) => {
    const order = turned ? [...all].reverse() : all;
    return `${gap}{${order.map(([name, text]) => `${gap}${JSON.stringify(name)}${gap}:${text}${gap}`).join()}}${gap}`;
  });
  const wrong = fc.tuple(members, faults).map(([all, list]) => printed(withFaults(all, list)));
  const padded = fc
    .tuple(members, fc.integer({ min: 65_000, max: 300_000 }))
    .map(([all, length]) => printed([...all, ["padding", `"${"p".repeat(length)}"`]]));
  return fc.oneof(
    { weight: 46, arbitrary: right.map((text) => Buffer.from(text)) },
    { weight: 36, arbitrary: wrong.map((text) => Buffer.from(text)) },
    { weight: 12, arbitrary: right.chain(brokenBytes) },
    {
      weight: 3,
      arbitrary: right.chain((text) => fc.constantFrom(...notBodies(text).map(([, bytes]) => bytes))),
    },
    { weight: 1, arbitrary: padded.map((text) => Buffer.from(text)) },
  );
}

/** Returns the same fields as a form. */
export function formFor(
  operation: Operation,
  schema: Schema,
  description: Description,
  picture: Buffer,
): fc.Arbitrary<{ readonly type: string; readonly body: Buffer }> {
  const parts = membersOf(description.resolve(schema), operation.path, description, 0);
  const shape = fc.record({
    wrong: fc.oneof(
      { weight: 2, arbitrary: fc.constant<readonly Fault[]>([]) },
      { weight: 1, arbitrary: faults },
    ),
    files: fc.array(fc.constantFrom("image", "image[]", "mask", "model", "../../x"), { maxLength: 3 }),
    end: fc.constantFrom("--b--\r\n", "--b--\r\n", "--b--\r\n", "", "--b", "--c--\r\n"),
  });
  return fc
    .tuple(parts, shape)
    .map(([members, { wrong, files, end }]) => {
      const texts = withFaults(members, wrong).map(([name, text]) => {
        const plain = text.startsWith('"') ? text.slice(1, -1) : text;
        return Buffer.from(
          `--b\r\ncontent-disposition: form-data; name="${name.replaceAll(/["\r\n]/g, "_")}"\r\n\r\n${plain}\r\n`,
        );
      });
      const pictures = files.map((name) =>
        Buffer.concat([
          Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"; filename="../a.png"\r\n`),
          Buffer.from("content-type: image/png\r\n\r\n"),
          picture,
          Buffer.from("\r\n"),
        ]),
      );
      return Buffer.concat([...texts, ...pictures, Buffer.from(end)]);
    })
    .chain((body) =>
      fc.oneof(
        { weight: 6, arbitrary: fc.constant(body) },
        { weight: 1, arbitrary: brokenBytes(body.toString("latin1")) },
      ),
    )
    .map((body) => ({ type: "multipart/form-data; boundary=b", body }));
}
