// The operations of the public API as the running router describes them, so that a new route is fuzzed the day it
// exists.
import { z } from "zod";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
}

export interface Operation {
  /** Method and path of the description. */
  readonly name: string;
  readonly method: string;
  /** Path with `{name}` for each value. */
  readonly path: string;
  readonly access: "normal" | "management" | "anybody";
  readonly query: readonly { readonly name: string; readonly schema: Schema }[];
  /** Schema of its body; undefined if it has none. */
  readonly body: Schema | undefined;
  /** Checks it. */
  readonly accepts: z.ZodType | undefined;
  readonly acceptsForms: boolean;
  readonly spends: boolean;
  /** Statuses in the description. */
  readonly statuses: ReadonlySet<number>;
  /** Checks JSON answers, by status. */
  readonly answers: ReadonlyMap<number, z.ZodType>;
}

export interface Description {
  readonly operations: readonly Operation[];
  /** Returns the schema of a `$ref`. @throws Error if there is none */
  resolve(schema: Schema): Schema;
}

interface RawOperation {
  readonly parameters?: readonly { $ref?: string; name: string; in: string; schema: Schema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { $ref?: string; content?: Record<string, { schema?: Schema }> }>
  >;
  readonly security: readonly Readonly<Record<string, unknown>>[];
}

interface RawDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, RawOperation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const REFERENCE = "#/components/schemas/";

export async function readDescription(baseUrl: string): Promise<Description> {
  const document = (await (await fetch(`${baseUrl}/openapi.json`)).json()) as RawDescription;
  const { schemas } = document.components;
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => operationOf(method, path, operation, schemas)),
  );
  return {
    operations,
    resolve: (schema) => {
      if (schema.$ref === undefined) return schema;
      const found = schemas[schema.$ref.slice(REFERENCE.length)];
      if (found === undefined) throw new Error(`${schema.$ref} is not described`);
      return found;
    },
  };
}

function operationOf(
  method: string,
  path: string,
  { parameters = [], requestBody, responses, security }: RawOperation,
  schemas: Readonly<Record<string, Schema>>,
): Operation {
  const closedSchemas = closed({ $defs: schemas }) as { $defs: Readonly<Record<string, Schema>> };
  const answers = Object.entries(responses).flatMap(([status, { content }]): [number, z.ZodType][] => {
    const schema = content?.["application/json"]?.schema;
    if (schema === undefined) return [];
    return [[Number(status), checkOf(closed(schema) as Schema, closedSchemas.$defs)]];
  });
  const body = requestBody?.content["application/json"]?.schema;
  const [access] = security.length === 1 ? security : [];
  const kind = access === undefined ? "anybody" : "managementKey" in access ? "management" : "normal";
  return {
    name: `${method} ${path}`,
    method: method.toUpperCase(),
    path,
    access: kind,
    query: parameters.filter((parameter) => parameter.in === "query"),
    body,
    accepts: body && checkOf(body, schemas),
    acceptsForms: requestBody?.content["multipart/form-data"] !== undefined,
    spends: "402" in responses,
    statuses: new Set(Object.keys(responses).map(Number)),
    answers: new Map(answers),
  };
}

/**
 * Closes the schema of our own answers: a description allows later members. So an answered but undescribed
 * member is noticed. Parts of an intersection have half of the members each, and stay open.
 */
export function closed(schema: unknown, isPart = false): unknown {
  if (Array.isArray(schema)) return schema.map((one) => closed(one, isPart));
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema).map(([key, value]): [string, unknown] => {
    if (["enum", "const", "example", "examples", "default"].includes(key)) return [key, value];
    const isMap = key === "properties" || key === "$defs";
    if (!isMap) return [key, closed(value, key === "allOf")];
    const inner = Object.entries(value as object).map(([name, one]) => [name, closed(one)]);
    return [key, Object.fromEntries(inner)];
  });
  const isOpen = "properties" in schema && !("additionalProperties" in schema) && !isPart;
  return { ...Object.fromEntries(entries), ...(isOpen && { additionalProperties: false }) };
}

/** Converts the described schema to one that checks values. */
function checkOf(schema: Schema, schemas: Readonly<Record<string, Schema>>): z.ZodType {
  const whole = JSON.stringify({ ...schema, $defs: schemas }).replaceAll(REFERENCE, "#/$defs/");
  return z.fromJSONSchema(JSON.parse(whole));
}
