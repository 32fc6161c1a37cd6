// Values for JSON schemas, checked by an independent validator.
import { describe, expect, test } from "@jest/globals";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { z } from "zod";
import { exampleOf, UnmakeableSchema } from "./json-example.ts";
import { materialOf } from "./material.ts";

const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
const nothing = materialOf("", []);

function expectFits(schema: object, message = ""): unknown {
  const value: unknown = JSON.parse(JSON.stringify(exampleOf(schema, materialOf(message, []))));
  const fits = ajv.validate(schema, value);
  expect({ fits, errors: ajv.errors, value }).toEqual({ fits: true, errors: null, value });
  return value;
}

/** Any schema that can be fulfilled, built from the keywords of structured outputs. */
const { schema: anySchema } = fc.letrec<{ schema: object }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<object>({ type: "string" }, { type: "boolean" }, { type: "null" }, {}, { const: 7 }),
    fc.record({
      type: fc.constant("string"),
      minLength: fc.nat(30),
      maxLength: fc.integer({ min: 30, max: 40 }),
    }),
    fc.record({
      type: fc.constant("string"),
      format: fc.constantFrom("date-time", "email", "uuid", "uri", "ipv4"),
    }),
    fc.record({
      enum: fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(null)), { minLength: 1, maxLength: 4 }),
    }),
    fc
      .tuple(fc.constantFrom("integer", "number"), fc.integer({ min: -50, max: 50 }), fc.nat(60))
      .map(([type, minimum, span]) => ({ type, minimum, maximum: minimum + span })),
    fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: -50, max: 50 }))
      .map(([multipleOf, exclusiveMinimum]) => ({ type: "integer", multipleOf, exclusiveMinimum })),
    fc
      .tuple(tie("schema"), fc.nat(3), fc.nat(3))
      .map(([items, minItems, more]) => ({ type: "array", items, minItems, maxItems: minItems + more })),
    fc.array(tie("schema"), { minLength: 1, maxLength: 3 }).map((anyOf) => ({ anyOf })),
    fc
      .tuple(
        fc.dictionary(fc.string({ maxLength: 8 }), tie("schema"), { maxKeys: 4, noNullPrototype: true }),
        fc.boolean(),
      )
      .map(([properties, strict]) => ({
        type: "object",
        properties,
        required: strict ? Object.keys(properties) : [],
        additionalProperties: !strict,
      })),
  ),
}));

describe("an example", () => {
  test("fits its schema, whatever the schema", () => {
    fc.assert(
      fc.property(anySchema, fc.string({ maxLength: 60 }), (schema, message) => {
        expectFits(schema, message);
      }),
      { numRuns: 300 },
    );
  });

  test("fits what libraries make of their types: references, unions, tuples, recursion, patterns", () => {
    const leaf = z.object({ kind: z.literal("leaf"), size: z.int().positive().max(9) });
    const types: z.ZodType[] = [
      z.object({ name: z.string(), age: z.int().min(0).max(150), tags: z.array(z.enum(["a", "b"])).min(2) }),
      z.object({ at: z.iso.datetime(), day: z.iso.date(), id: z.uuid(), mail: z.email(), link: z.url() }),
      z.object({
        choice: z.union([leaf, z.object({ kind: z.literal("none") })]),
        pair: z.tuple([z.string(), z.number()]),
      }),
      z.object({
        maybe: z.string().nullable(),
        optional: z.number().optional(),
        any: z.any(),
        map: z.record(z.string(), z.int()),
      }),
      z.object({
        zip: z.string().regex(/^\d{5}$/),
        code: z.string().regex(/^[A-Z]{3}-\d{3}$/),
        long: z.string().min(40),
      }),
      z.object({ price: z.number().gt(9.5).lt(9.75), step: z.number().multipleOf(0.5).min(0.25) }),
    ];
    for (const type of types) {
      const schema = z.toJSONSchema(type);
      expect(type.safeParse(expectFits(schema)).error).toBeUndefined();
    }
    const tree = {
      $ref: "#/$defs/tree",
      $defs: {
        tree: {
          type: "object",
          properties: {
            left: { anyOf: [{ $ref: "#/$defs/tree" }, { type: "null" }] },
            children: { type: "array", items: { $ref: "#/$defs/tree" } },
            parent: { $ref: "#/$defs/tree" },
          },
          required: ["left", "children"],
          additionalProperties: false,
        },
      },
    };
    expect(expectFits(tree)).toEqual({ left: null, children: [] });
    expectFits({
      allOf: [
        { type: "object", properties: { a: { type: "number" } }, required: ["a"] },
        { properties: { a: { minimum: 3 }, b: { type: "string" } } },
      ],
    });
    expectFits({ type: "array", items: { enum: ["a", "b", "c"] }, minItems: 3, uniqueItems: true });
  });

  test("has what the message says: its numbers in their order, its names, its words for choices", () => {
    const schema = {
      type: "object",
      properties: {
        a: { type: "number" },
        b: { type: "integer" },
        city: { type: "string" },
        unit: { enum: ["celsius", "fahrenheit"] },
      },
      required: ["a", "b", "city", "unit"],
    };
    expect(expectFits(schema, "Multiply 3.5 by 12: how warm is it in San Francisco, in Fahrenheit?")).toEqual(
      {
        a: 3.5,
        b: 12,
        city: "San Francisco",
        unit: "fahrenheit",
      },
    );
  });

  test.each<[string, unknown]>([
    ["an object within itself", { $ref: "#" }],
    ["an object that needs itself", { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] }],
    ["a reference to nowhere", { $ref: "#/$defs/none" }],
    ["bounds that cross", { type: "integer", minimum: 3, maximum: 2 }],
    ["what is not", { type: "string", not: { const: "a" } }],
    ["nothing", { type: "object", properties: { a: false }, required: ["a"] }],
    ["a pattern of which no example is known", { type: "string", pattern: "^zebra{7}$" }],
    ["a pattern that is none", { type: "string", pattern: "(" }],
    ["nests that never end", { allOf: [{ allOf: [{ $ref: "#" }] }] }],
  ])("of %s is refused with its place", (_case, schema) => {
    expect(() => exampleOf(schema, nothing)).toThrow(UnmakeableSchema);
    expect(() => exampleOf(schema, nothing)).toThrow(/^#/);
  });
});
