// An API description may only grow: each request of the former description stays valid, each former field is still answered.
// The comparison reads the JSON Schema of OpenAPI 3.1 and ignores text, formats and examples.
// Its sentences name the operation and the path of the field.

type Json = Readonly<Record<string, unknown>>;
/** A request must accept all former values; an answer must keep all former fields. */
type Direction = "request" | "answer";

const METHODS = ["get", "put", "post", "delete", "patch", "head", "options"] as const;
/** Bounds of a request by the direction in which a bound becomes stricter. */
const STRICTER: Readonly<Record<string, 1 | -1>> = {
  ...{ minLength: 1, minItems: 1, minimum: 1, exclusiveMinimum: 1 },
  ...{ maxLength: -1, maxItems: -1, maximum: -1, exclusiveMaximum: -1 },
};

const objectOf = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {};
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** @returns a sentence for each change that a client of the former API can notice as a loss; none if the API only grew */
export function apiChanges(before: Json, after: Json): string[] {
  const [was, is] = [new Description(before), new Description(after)];
  const found: string[] = [];
  for (const [path, item] of Object.entries(objectOf(before["paths"]))) {
    const now = objectOf(after["paths"])[path];
    if (now === undefined) {
      found.push(`${path}: the path is gone`);
      continue;
    }
    for (const method of METHODS.filter((name) => name in objectOf(item))) {
      const name = `${method.toUpperCase()} ${path}`;
      const operation = objectOf(now)[method];
      if (operation === undefined) found.push(`${name}: the operation is gone`);
      else
        new Comparison(was, is, name, found).operation(objectOf(objectOf(item)[method]), objectOf(operation));
    }
  }
  return found;
}

class Description {
  readonly #document: Json;

  constructor(document: Json) {
    this.#document = document;
  }

  /** Follows references. */
  resolve(value: unknown): Json {
    const pointer = objectOf(value)["$ref"];
    if (typeof pointer !== "string") return objectOf(value);
    const steps = pointer.replace(/^#\//, "").split("/");
    return this.resolve(steps.reduce<unknown>((at, step) => objectOf(at)[step], this.#document));
  }

  /** Returns the alternatives of a schema, each with at most one type. */
  alternatives(value: unknown): Json[] {
    const schema = this.resolve(value);
    const parts = schema["anyOf"] ?? schema["oneOf"];
    if (Array.isArray(parts)) return parts.flatMap((part) => this.alternatives(part));
    const types = schema["type"];
    return Array.isArray(types) ? types.map((type) => ({ ...schema, type })) : [schema];
  }
}

class Comparison {
  readonly #was: Description;
  readonly #is: Description;
  readonly #name: string;
  readonly #found: string[];
  /** Pairs of schemas under comparison: a schema may contain itself. */
  readonly #begun = new Map<Json, Set<Json>>();

  constructor(was: Description, is: Description, name: string, found: string[]) {
    this.#was = was;
    this.#is = is;
    this.#name = name;
    this.#found = found;
  }

  operation(was: Json, is: Json): void {
    this.#parameters(was, is);
    this.#requestBody(was["requestBody"], is["requestBody"]);
    for (const [status, response] of Object.entries(objectOf(was["responses"]))) {
      const now = objectOf(is["responses"])[status];
      if (now === undefined) {
        // An error that does not occur any more is no loss.
        if (status.startsWith("2")) this.#report(status, "the answer is gone");
        continue;
      }
      const [before, after] = [this.#was.resolve(response), this.#is.resolve(now)];
      for (const header of Object.keys(objectOf(before["headers"])))
        if (!(header in objectOf(after["headers"]))) this.#report(status, `the header ${header} is gone`);
      this.#content(before["content"], after["content"], status, "answer");
    }
  }

  #parameters(was: Json, is: Json): void {
    const parametersOf = (description: Description, operation: Json) =>
      new Map(
        listOf(operation["parameters"])
          .map((parameter) => description.resolve(parameter))
          .map((parameter) => [`${parameter["in"]} ${parameter["name"]}`, parameter]),
      );
    const [before, after] = [parametersOf(this.#was, was), parametersOf(this.#is, is)];
    for (const [name, parameter] of before) {
      const now = after.get(name);
      if (now === undefined) this.#report(name, "the parameter is gone");
      else this.#schemas(parameter["schema"], now["schema"], name, "request");
    }
    for (const [name, parameter] of after)
      if (parameter["required"] === true && before.get(name)?.["required"] !== true)
        this.#report(name, "the parameter is required now");
  }

  #requestBody(was: unknown, is: unknown): void {
    const [before, after] = [this.#was.resolve(was), this.#is.resolve(is)];
    if (after["required"] === true && before["required"] !== true)
      this.#report("request", "the body is required now");
    this.#content(before["content"], after["content"], "request", "request");
  }

  #content(was: unknown, is: unknown, at: string, direction: Direction): void {
    for (const [type, media] of Object.entries(objectOf(was))) {
      const now = objectOf(is)[type];
      // Request and answer may share a schema, and are compared apart.
      this.#begun.clear();
      if (now === undefined) this.#report(at, `${type} is gone`);
      else this.#schemas(objectOf(media)["schema"], objectOf(now)["schema"], at, direction);
    }
  }

  #schemas(was: unknown, is: unknown, at: string, direction: Direction): void {
    if (was === undefined || is === undefined) return;
    const [before, after] = [this.#was.resolve(was), this.#is.resolve(is)];
    const begun = this.#begun.get(before) ?? new Set();
    if (begun.has(after)) return;
    this.#begun.set(before, begun.add(after));

    const [olds, news] = [this.#was.alternatives(was), this.#is.alternatives(is)];
    const typesOf = (schemas: readonly Json[]) => new Set(schemas.map((schema) => schema["type"]));
    if (direction === "answer") {
      for (const type of typesOf(news))
        if (!typesOf(olds).has(type)) this.#report(at, `the answer may be of type ${type} now`);
    }
    for (const old of olds) {
      // The nearest alternative decides; its losses are reported.
      const tries = news.map((schema) => this.#losses(old, schema, at, direction));
      const [best] = tries.sort((a, b) => a.length - b.length);
      this.#found.push(...(best ?? []));
    }
  }

  /** Compares two schemas without alternatives, apart from the found losses. */
  #losses(was: Json, is: Json, at: string, direction: Direction): string[] {
    const found: string[] = [];
    const apart = new Comparison(this.#was, this.#is, this.#name, found);
    for (const [schema, known] of this.#begun) apart.#begun.set(schema, new Set(known));
    apart.#members(was, is, at, direction);
    return found;
  }

  #members(was: Json, is: Json, at: string, direction: Direction): void {
    if (was["type"] !== is["type"]) {
      const [narrow, wide] = direction === "request" ? [was, is] : [is, was];
      const widens = narrow["type"] === "integer" && wide["type"] === "number";
      if (!widens && is["type"] !== undefined)
        this.#report(at, `${was["type"] ?? "any type"} became ${is["type"]}`);
    }
    this.#values(was, is, at, direction);
    if (direction === "request") this.#bounds(was, is, at);

    const [properties, now] = [objectOf(was["properties"]), objectOf(is["properties"])];
    for (const [name, property] of Object.entries(properties)) {
      if (name in now) this.#schemas(property, now[name], `${at}.${name}`, direction);
      else this.#report(`${at}.${name}`, "the field is gone");
    }
    const [required, requires] = [listOf(was["required"]), listOf(is["required"])];
    if (direction === "request") {
      for (const name of requires.filter((one) => !required.includes(one)))
        this.#report(`${at}.${name}`, "the field is required now");
      if (is["additionalProperties"] === false && was["additionalProperties"] !== false && was["properties"])
        this.#report(at, "other fields are refused now");
    } else {
      for (const name of required.filter((one) => !requires.includes(one) && String(one) in now))
        this.#report(`${at}.${name}`, "the field may be missing now");
    }
    if (typeof was["additionalProperties"] === "object")
      this.#schemas(was["additionalProperties"], is["additionalProperties"], `${at}.*`, direction);
    this.#schemas(was["items"], is["items"], `${at}[]`, direction);
  }

  #values(was: Json, is: Json, at: string, direction: Direction): void {
    const valuesOf = (schema: Json) =>
      "const" in schema ? [schema["const"]] : Array.isArray(schema["enum"]) ? schema["enum"] : undefined;
    const [before, after] = [valuesOf(was), valuesOf(is)];
    if (after === undefined) return;
    if (before === undefined && direction === "request")
      this.#report(at, "only certain values are accepted now");
    for (const value of before ?? [])
      if (!after.includes(value)) this.#report(at, `the value ${JSON.stringify(value)} is gone`);
  }

  #bounds(was: Json, is: Json, at: string): void {
    for (const [name, sign] of Object.entries(STRICTER)) {
      const [before, after] = [was[name], is[name]];
      if (typeof after !== "number") continue;
      if (typeof before !== "number" || (after - before) * sign > 0)
        this.#report(at, `${name} is ${after} now, was ${before ?? "unbounded"}`);
    }
    if (is["pattern"] !== undefined && is["pattern"] !== was["pattern"])
      this.#report(at, `the pattern is ${is["pattern"]} now`);
  }

  #report(at: string, loss: string): void {
    this.#found.push(`${this.#name} ${at}: ${loss}`);
  }
}
