// JsonExample creates a value that fits a JSON schema, filled from the message: its numbers, its names, facts about
// its pictures. Invariant: the value fits, or the schema is refused with the path that cannot be filled.
import { isObject, type JsonObject } from "../request/request-fields.ts";

/** Contents for the values. Numbers and names are used in their order, and repeated from the start. */
export interface Material {
  readonly text: string;
  readonly names: readonly string[];
  readonly numbers: readonly number[];
  /** By the name of a property: `color`, `width`. */
  readonly facts: ReadonlyMap<string, string | number>;
}

/** The schema requires a value that this module cannot create. */
export class UnmakeableSchema extends Error {}

const MOST_VALUES = 5_000;
const DEEPEST = 200;
const LONGEST_STRING = 2_000;
const SUPPORTED_TYPES = ["object", "array", "string", "integer", "number", "boolean", "null"] as const;
type JsonType = (typeof SUPPORTED_TYPES)[number];
/** Keywords that narrow a schema and are not supported here. */
const NOT_LOOKED_AT = [
  "not",
  "if",
  "dependentSchemas",
  "contains",
  "unevaluatedProperties",
  "unevaluatedItems",
];

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  duration: "P1D",
  email: "ada@example.com",
  "idn-email": "ada@example.com",
  hostname: "example.com",
  "idn-hostname": "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uuid: "5f0c8a52-8e8c-4f9c-9d5e-3b1f0a7c2d11",
  uri: "https://example.com/",
  url: "https://example.com/",
  iri: "https://example.com/",
  "uri-reference": "/sandbox",
  "iri-reference": "/sandbox",
  "uri-template": "https://example.com/{id}",
  "json-pointer": "/sandbox",
  "relative-json-pointer": "0",
  regex: ".*",
};
/** Strings that are tried in turn against a pattern. */
const SAMPLES = [
  ...Object.values(FORMATS),
  ..."a A abc Abc ABC sandbox Sandbox 0 1 12 123 1234 12345 123456 1.0 1.00 12.50 $12.50 12.50% a1 A1 AB12 AB-12 ABC-123 ABC-1234".split(
    " ",
  ),
  ..."+15550100123 +1-555-010-0123 555-0100 555-010-0123 (555)010-0123 #aabbcc aabbcc snake_case kebab-case camelCase @ada v1.2.3 1.2.3".split(
    " ",
  ),
  ..."12:30 12:30:00 2026-01 2026 31.01.2026 01/31/2026 en en-US USD EUR US 2026-01-31T12:00:00 2026-01-31T12:00:00.000Z".split(
    " ",
  ),
  "two words",
  "Ada Lovelace",
  "",
];

/** @throws UnmakeableSchema */
export function exampleOf(schema: unknown, material: Material): unknown {
  return new ExampleWriter(schema, material).generate(schema, "#", "value");
}

class ExampleWriter {
  readonly #root: unknown;
  readonly #material: Material;
  /** References in progress: one within itself would never end. */
  readonly #open = new Set<string>();
  #values = 0;
  #depth = 0;
  #names = 0;
  #numbers = 0;
  /** Number of the value among several different ones; the items of an array differ by it. */
  #variant = 0;

  constructor(root: unknown, material: Material) {
    this.#root = root;
    this.#material = material;
  }

  generate(schema: unknown, path: string, name: string): unknown {
    this.#values++;
    if (this.#values > MOST_VALUES || this.#depth > DEEPEST) throw new UnmakeableSchema(`${path}: too large`);
    this.#depth++;
    try {
      return this.#generate(schema, path, name);
    } finally {
      this.#depth--;
    }
  }

  #generate(schema: unknown, path: string, name: string): unknown {
    if (schema === true || schema === undefined) return this.#word({}, path, name);
    if (!isObject(schema)) throw new UnmakeableSchema(`${path}: nothing fits`);
    const blind = NOT_LOOKED_AT.find((keyword) => isNarrow(schema[keyword]));
    if (blind !== undefined) throw new UnmakeableSchema(`${path}: "${blind}" is not supported`);
    const { $ref: ref, allOf, anyOf, oneOf, ...rest } = schema;
    if (typeof ref === "string")
      return this.#follow(ref, { ...rest, ...present({ allOf, anyOf, oneOf }) }, path, name);
    if (Array.isArray(allOf)) {
      const parts = allOf.map((part: unknown) => this.#inlined(part, path));
      return this.generate(merged([...parts, { ...rest, ...present({ anyOf, oneOf }) }], path), path, name);
    }
    const alternatives = anyOf ?? oneOf;
    if (Array.isArray(alternatives)) return this.#firstOf(alternatives, rest, path, name);
    if ("const" in rest) return rest["const"];
    if (Array.isArray(rest["enum"])) return this.#choice(rest["enum"], typesOf(rest), path);
    return this.#ofType(rest, path, name);
  }

  #follow(ref: string, rest: JsonObject, path: string, name: string): unknown {
    if (this.#open.has(ref)) throw new UnmakeableSchema(`${path}: ${ref} is within itself`);
    this.#open.add(ref);
    try {
      const target = this.#resolve(ref, path);
      if (Object.keys(rest).every((keyword) => ANNOTATIONS.has(keyword)))
        return this.generate(target, path, name);
      return this.generate(merged([target, rest], path), path, name);
    } finally {
      this.#open.delete(ref);
    }
  }

  /** Replaces a reference in a schema that is to be merged, once. */
  #inlined(part: unknown, path: string): unknown {
    if (!isObject(part) || typeof part["$ref"] !== "string") return part;
    const { $ref: ref, ...rest } = part;
    return merged([this.#resolve(ref, path), rest], path);
  }

  #resolve(ref: string, path: string): unknown {
    if (!ref.startsWith("#")) throw new UnmakeableSchema(`${path}: ${ref} is elsewhere`);
    let target = this.#root;
    for (const step of ref.slice(1).split("/").slice(1)) {
      const key = step.replaceAll("~1", "/").replaceAll("~0", "~");
      target = isObject(target) || Array.isArray(target) ? (target as JsonObject)[key] : undefined;
    }
    if (target === undefined) throw new UnmakeableSchema(`${path}: there is no ${ref}`);
    return target;
  }

  #firstOf(alternatives: unknown[], rest: JsonObject, path: string, name: string): unknown {
    let problem: UnmakeableSchema | undefined;
    for (const alternative of alternatives) {
      try {
        return this.generate(
          isBare(rest) ? alternative : merged([this.#inlined(alternative, path), rest], path),
          path,
          name,
        );
      } catch (error) {
        if (!(error instanceof UnmakeableSchema)) throw error;
        problem ??= error;
      }
    }
    throw problem ?? new UnmakeableSchema(`${path}: nothing fits`);
  }

  /** The value that the message contains, else the first. */
  #choice(values: readonly unknown[], types: readonly JsonType[], path: string): unknown {
    const fitting = values.filter(
      (value) => types.length === 0 || types.some((type) => isOfType(value, type)),
    );
    const text = this.#material.text.toLowerCase();
    const named = fitting.findIndex(
      (value) => typeof value === "string" && value !== "" && text.includes(value.toLowerCase()),
    );
    if (fitting.length === 0) throw new UnmakeableSchema(`${path}: no value of the enum fits the type`);
    return fitting[(Math.max(named, 0) + this.#variant) % fitting.length];
  }

  #ofType(schema: JsonObject, path: string, name: string): unknown {
    switch (typesOf(schema).find((type) => type !== "null") ?? typesOf(schema)[0] ?? guessedType(schema)) {
      case "object":
        return this.#object(schema, path);
      case "array":
        return this.#array(schema, path, name);
      case "integer":
        return this.#number(schema, true, path, name);
      case "number":
        return this.#number(schema, false, path, name);
      case "boolean":
        return true;
      case "null":
        return null;
      default:
        return this.#word(schema, path, name);
    }
  }

  #object(schema: JsonObject, path: string): JsonObject {
    const properties = isObject(schema["properties"]) ? schema["properties"] : {};
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    const most = countOf(schema["maxProperties"]) ?? Number.POSITIVE_INFINITY;
    const members: [string, unknown][] = [];
    let optional = most - required.size;
    for (const [name, property] of Object.entries(properties)) {
      if (!required.has(name) && optional-- <= 0) continue;
      try {
        members.push([name, this.generate(property, `${path}/properties/${name}`, name)]);
      } catch (error) {
        if (required.has(name) || !(error instanceof UnmakeableSchema)) throw error;
      }
    }
    const more = schema["additionalProperties"];
    const absent = [...required].filter(
      (name) => typeof name === "string" && !Object.hasOwn(properties, name),
    );
    const least = countOf(schema["minProperties"]) ?? 0;
    for (let index = 1; members.length + absent.length < least; index++) absent.push(`sandbox${index}`);
    for (const name of absent) {
      members.push([
        name,
        this.generate(more === false ? false : more, `${path}/additionalProperties`, name),
      ]);
    }
    // Not by assignment: a property may have the name __proto__.
    return Object.fromEntries(members);
  }

  #array(schema: JsonObject, path: string, name: string): unknown[] {
    const first = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
    const least = countOf(schema["minItems"]) ?? 0;
    const most = countOf(schema["maxItems"]) ?? Number.POSITIVE_INFINITY;
    const rest = schema["items"];
    const length = Math.min(Math.max(least, first.length, rest === false ? 0 : 1), most);
    const items: unknown[] = [];
    const variant = this.#variant;
    try {
      for (let index = 0; index < length; index++) {
        this.#variant = variant + index;
        const item = index < first.length ? first[index] : rest;
        items.push(this.generate(item, `${path}/items`, name.replace(/s$/, "")));
      }
    } catch (error) {
      if (!(error instanceof UnmakeableSchema) || items.length < least) throw error;
    } finally {
      this.#variant = variant;
    }
    if (
      schema["uniqueItems"] === true &&
      new Set(items.map((item) => JSON.stringify(item))).size < items.length
    ) {
      throw new UnmakeableSchema(`${path}: its items cannot all be different`);
    }
    return items;
  }

  #number(schema: JsonObject, whole: boolean, path: string, name: string): number {
    const step = numberOf(schema["multipleOf"]) ?? (whole ? 1 : undefined);
    const least = numberOf(schema["minimum"]);
    const above = numberOf(schema["exclusiveMinimum"]);
    const most = numberOf(schema["maximum"]);
    const below = numberOf(schema["exclusiveMaximum"]);
    const low = Math.max(least ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY);
    const high = Math.min(most ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY);
    const fits = (value: number | undefined): value is number =>
      value !== undefined &&
      Number.isFinite(value) &&
      (!whole || Number.isInteger(value)) &&
      (step === undefined || Number.isInteger(value / step)) &&
      (least === undefined || value >= least) &&
      (above === undefined || value > above) &&
      (most === undefined || value <= most) &&
      (below === undefined || value < below);
    const base = step === undefined ? low : Math.ceil(low / step) * step;
    const unit = step ?? 1;
    const ladder = [1, 0, base, base + unit, high, high - unit, (low + high) / 2].map(
      (value) => value + this.#variant * unit,
    );
    const value = [this.#factOf(name), this.#nextNumber(), ...ladder, 1, 0, base, high].find(
      (candidate) => typeof candidate === "number" && fits(candidate),
    );
    if (typeof value !== "number") throw new UnmakeableSchema(`${path}: no number fits`);
    return value;
  }

  #word(schema: JsonObject, path: string, name: string): string {
    const least = countOf(schema["minLength"]) ?? 0;
    const most = countOf(schema["maxLength"]) ?? Number.POSITIVE_INFINITY;
    const format = typeof schema["format"] === "string" ? FORMATS[schema["format"]] : undefined;
    const pattern = patternOf(schema["pattern"], path);
    if (least > most || least > LONGEST_STRING)
      throw new UnmakeableSchema(`${path}: no string has that length`);
    const fact = this.#factOf(name);
    const free = fact === undefined ? this.#nextName(name) : String(fact);
    const fits = (text: string) =>
      lengthOf(text) >= least && lengthOf(text) <= most && (pattern === undefined || pattern.test(text));
    const stretched = cut(free.padEnd(least, "."), most);
    const found =
      format === undefined
        ? [free, stretched, ...(pattern === undefined ? [] : SAMPLES)].find(fits)
        : [format, ...(pattern === undefined ? [] : SAMPLES)].find(fits);
    if (found === undefined) throw new UnmakeableSchema(`${path}: no example is known of such a string`);
    return found;
  }

  #factOf(name: string): string | number | undefined {
    const plain = name.toLowerCase().replace("colour", "color");
    for (const [key, fact] of this.#material.facts) {
      if (plain.includes(key)) return fact;
    }
    return undefined;
  }

  #nextNumber(): number | undefined {
    const { numbers } = this.#material;
    return numbers[this.#numbers++ % numbers.length];
  }

  #nextName(otherwise: string): string {
    const { names } = this.#material;
    const name = names[this.#names++ % names.length] ?? otherwise;
    return this.#variant === 0 || names.length > this.#variant ? name : `${name} ${this.#variant + 1}`;
  }
}

const ANNOTATIONS: ReadonlySet<string> = new Set([
  "title",
  "description",
  "default",
  "examples",
  "$defs",
  "definitions",
  "$schema",
  "$id",
  "deprecated",
  "readOnly",
  "writeOnly",
  "$comment",
]);

/** Returns true if the schema has no condition for a value. */
function isBare(schema: JsonObject): boolean {
  return Object.keys(schema).every((keyword) => ANNOTATIONS.has(keyword));
}

function isNarrow(value: unknown): boolean {
  return value !== undefined && value !== true;
}

function present(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** Returns one schema with the conditions of all of them. */
function merged(schemas: readonly unknown[], path: string): JsonObject {
  const whole: Record<string, unknown> = {};
  for (const schema of schemas) {
    if (schema === true) continue;
    if (!isObject(schema)) throw new UnmakeableSchema(`${path}: nothing fits`);
    for (const [keyword, value] of Object.entries(schema))
      whole[keyword] = combined(keyword, whole[keyword], value, path);
  }
  return whole;
}

const HIGHEST = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]);
const LOWEST = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]);

function combined(keyword: string, before: unknown, value: unknown, path: string): unknown {
  if (before === undefined || ANNOTATIONS.has(keyword)) return value;
  if (HIGHEST.has(keyword)) return Math.max(Number(before), Number(value));
  if (LOWEST.has(keyword)) return Math.min(Number(before), Number(value));
  if (keyword === "required") return [...new Set([...(before as unknown[]), ...(value as unknown[])])];
  if (keyword === "properties" && isObject(before) && isObject(value)) {
    const both = { ...before };
    for (const [name, property] of Object.entries(value)) {
      both[name] = Object.hasOwn(before, name) ? { allOf: [before[name], property] } : property;
    }
    return both;
  }
  if (keyword === "type")
    return SUPPORTED_TYPES.filter((type) => allows(before, type) && allows(value, type));
  if (keyword === "additionalProperties") return before === false || value === false ? false : value;
  if (keyword === "uniqueItems") return before === true || value === true;
  if (JSON.stringify(before) === JSON.stringify(value)) return value;
  throw new UnmakeableSchema(`${path}: "${keyword}" is said twice`);
}

function typesOf({ type }: JsonObject): JsonType[] {
  const types: unknown[] = Array.isArray(type) ? type : [type];
  return SUPPORTED_TYPES.filter((known) => types.includes(known));
}

function allows(types: unknown, type: JsonType): boolean {
  const allowed = typesOf({ type: types });
  return allowed.includes(type) || (type === "integer" && allowed.includes("number"));
}

function guessedType(schema: JsonObject): JsonType {
  const has = (...keywords: string[]) => keywords.some((keyword) => keyword in schema);
  if (has("properties", "required", "additionalProperties", "minProperties")) return "object";
  if (has("items", "prefixItems", "minItems", "uniqueItems")) return "array";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return "number";
  return "string";
}

function isOfType(value: unknown, type: JsonType): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function patternOf(pattern: unknown, path: string): RegExp | undefined {
  if (typeof pattern !== "string") return undefined;
  try {
    return new RegExp(pattern, "u");
  } catch (error) {
    throw new UnmakeableSchema(`${path}: the pattern is not valid: ${String(error)}`);
  }
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** JSON schema counts characters, not halves of surrogate pairs. */
function lengthOf(text: string): number {
  return [...text].length;
}

function cut(text: string, most: number): string {
  return lengthOf(text) <= most ? text : [...text].slice(0, most).join("");
}
