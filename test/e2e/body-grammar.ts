// Random bodies for each endpoint that are wrong in one to three named fields and right in all others: members in any
// order, with whitespace and further fields in between. The endpoint must name one of the wrong fields.
import fc from "fast-check";
import type { BadField, Endpoint } from "./endpoints.ts";

export interface WrongBody {
  readonly text: string;
  /** Fields at fault. */
  readonly names: readonly string[];
}

/** Limit of a value: the table already has longer ones, which would only cost time here. */
const LONGEST_VALUE = 5_000;

const kinds: Readonly<Record<string, readonly string[]>> = {
  string: ["model", "prompt", "name"],
  text: ["quality", "size", "response_format", "output_format", "spend_limit_period", "expires_at"],
  boolean: ["stream"],
  number: ["n", "max_tokens", "max_completion_tokens", "max_output_tokens", "spend_limit"],
  array: ["messages"],
};

const anything = fc.jsonValue({ maxDepth: 2 });

/** Returns values of a wrong kind; null counts as absent in most fields. */
function wrongKind(field: string): fc.Arbitrary<unknown> | undefined {
  const kind = Object.keys(kinds).find((name) => kinds[name]?.includes(field) === true);
  const not = (type: string) => anything.filter((value) => value !== null && typeof value !== type);
  switch (kind) {
    case "string":
      return not("string");
    case "text":
      // No word of any of these fields contains a space.
      return fc.oneof(
        not("string"),
        fc.string().map((text) => `${text} `),
      );
    case "boolean":
      return not("boolean");
    case "number":
      return fc.oneof(
        not("number"),
        fc.integer({ max: -1 }),
        fc.double({ max: -0.1, noNaN: true, noDefaultInfinity: true }),
      );
    case "array":
      return anything.filter((value) => value !== null && !Array.isArray(value));
    default:
      return undefined;
  }
}

function wrongValue(field: string, { values }: BadField): fc.Arbitrary<string> {
  const known = fc.constantFrom(...values.filter((value) => value.length < LONGEST_VALUE));
  const random = wrongKind(field)?.map((value) => JSON.stringify(value));
  return random === undefined ? known : fc.oneof(known, random);
}

const space = fc.constantFrom("", "", "", " ", "\n", "\t", "\r\n  ");

export function wrongBody({ bad, valid, management }: Endpoint): fc.Arbitrary<WrongBody> {
  const reserved = new Set([...Object.keys(bad), ...Object.keys(valid)].map((name) => name.toLowerCase()));
  const unknown = fc
    .tuple(fc.string(), anything)
    .filter(([name]) => !reserved.has(name.toLowerCase()))
    .map(([name, value]) => [`x${name}`, JSON.stringify(value)] as const);
  const wrong = fc.subarray(Object.keys(bad), { minLength: 1, maxLength: 3 }).chain((fields) =>
    fc.tuple(
      ...fields.map((field) =>
        wrongValue(field, bad[field] ?? { values: [] }).map((value) => ({
          field,
          value,
          rule: bad[field],
        })),
      ),
    ),
  );
  return (
    fc
      .tuple(
        wrong,
        fc.uniqueArray(unknown, { maxLength: 4, selector: ([name]) => name }),
        space,
        fc.infiniteStream(fc.nat()),
      )
      .map(([faults, extras, gap, order]) => {
        const beside = faults.flatMap(({ rule }) => Object.entries(rule?.beside ?? {}));
        const members = new Map([...Object.entries(valid), ...beside, ...extras]);
        for (const { field, value } of faults) members.set(field, value);
        const keyed = [...members].map((member) => ({ member, at: order.next().value }));
        const texts = keyed
          .sort((one, other) => one.at - other.at)
          .map(({ member: [name, value] }) => `${gap}${JSON.stringify(name)}${gap}:${gap}${value}${gap}`);
        const names = faults.flatMap(({ field, rule }) => [
          field,
          ...(rule?.alias === undefined ? [] : [rule.alias]),
        ]);
        // If a field is a restriction, an unknown one is at fault, too.
        const unknownNames = management === true ? extras.map(([name]) => name) : [];
        return { text: `${gap}{${texts.join(",")}}${gap}`, names: [...names, ...unknownNames] };
      })
      // Such a body is refused as a whole, before the check of its fields.
      .filter(({ text }) => !text.includes("__proto__"))
  );
}

/** Returns a body with a few bytes changed, lost, doubled or inserted. */
export function brokenBytes(valid: string): fc.Arbitrary<Buffer> {
  const change = fc.record({
    at: fc.nat(),
    how: fc.constantFrom("change", "insert", "remove", "cut", "double"),
    byte: fc.integer({ min: 0, max: 255 }),
  });
  return fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
    let bytes = Buffer.from(valid);
    for (const { at, how, byte } of changes) {
      const index = bytes.length === 0 ? 0 : at % bytes.length;
      const [head, tail] = [bytes.subarray(0, index), bytes.subarray(index)];
      const parts: Record<typeof how, Buffer[]> = {
        change: [head, Buffer.from([byte]), tail.subarray(1)],
        insert: [head, Buffer.from([byte]), tail],
        remove: [head, tail.subarray(1)],
        cut: [head],
        double: [head, tail, tail],
      };
      bytes = Buffer.concat(parts[how]);
    }
    return bytes;
  });
}
