// The description of the API is sound, complete, and the same in both topologies.

import { errorTable } from "@gr/proto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { call } from "../test/call.ts";
import { type Ring, startRing, topologies } from "../test/ring.ts";
import { hoistDefinitions } from "./hoist-definitions.ts";
import { buildOpenApi, type OpenApiDocument } from "./openapi.ts";

interface Operation {
  operationId: string;
  security: object[];
  parameters?: { $ref?: string }[];
  responses: Record<string, { headers?: Record<string, object> }>;
}

function operationsOf({ paths }: OpenApiDocument): [string, Operation][] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): [string, Operation] => [
      `${method} ${path}`,
      operation as Operation,
    ]),
  );
}

function pointersIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(pointersIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    key === "$ref" && typeof item === "string" ? [item] : pointersIn(item),
  );
}

function resolves(document: object, pointer: string): boolean {
  let at: unknown = document;
  for (const step of pointer.replace(/^#\//, "").split("/")) {
    at = (at as Record<string, unknown> | undefined)?.[step];
  }
  return at !== undefined;
}

function expectSound(document: OpenApiDocument): void {
  expect(document.openapi).toBe("3.1.0");
  expect(document.info).toMatchObject({ title: expect.any(String), version: "0.0.1" });
  for (const pointer of pointersIn(document)) {
    expect([pointer, resolves(document, pointer)]).toEqual([pointer, true]);
  }
  const operations = operationsOf(document);
  for (const [name, { responses }] of operations) {
    expect([name, Object.keys(responses).some((status) => status.startsWith("2"))]).toEqual([name, true]);
  }
  const ids = operations.map(([, { operationId }]) => operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const path of Object.keys(document.paths)) {
    expect(path).not.toMatch(/[:*]/);
    for (const [, name] of path.matchAll(/\{(\w+)\}/g)) {
      expect(JSON.stringify(document.paths[path])).toContain(`"name":"${name}","in":"path"`);
    }
  }
}

describe("GET /openapi.json", () => {
  const rings = new Map<string, Ring>();
  beforeAll(async () => {
    for (const topology of topologies) rings.set(topology, await startRing(topology));
  });
  afterAll(async () => {
    for (const ring of rings.values()) await ring.stop();
  });
  const fetchDocument = async (topology: string) => {
    const answer = await call(`${rings.get(topology)?.baseUrl}/openapi.json`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/json/);
    return answer.body as OpenApiDocument;
  };

  test.each(topologies)("is sound and has every public route, %s", async (topology) => {
    const document = await fetchDocument(topology);
    expectSound(document);
    expect(operationsOf(document).map(([name]) => name)).toEqual(
      expect.arrayContaining([
        "get /v1/api-keys",
        "post /v1/api-keys",
        "delete /v1/api-keys/{id}",
        "post /v1/auth/test",
        "get /v1/credits",
        "get /v1/models/{path}",
        "post /v1/compat/videos/generations",
        "get /media/{path}",
      ]),
    );
    expect(JSON.stringify(document)).not.toContain("/inside");
  });

  test.each(topologies)("says who may call what, %s", async (topology) => {
    const operations = new Map(operationsOf(await fetchDocument(topology)));
    expect(operations.get("get /v1/credits")?.security).toEqual([{ apiKey: [] }]);
    expect(operations.get("post /v1/api-keys")?.security).toEqual([{ managementKey: [] }]);
    expect(operations.get("get /v1/models")?.security).toEqual([{}, { apiKey: [] }]);
    expect(operations.get("get /media/{path}")?.security).toEqual([]);
    expect(Object.keys(operations.get("post /v1/compat/responses")?.responses ?? {})).toEqual(
      expect.arrayContaining(["200", "400", "401", "402", "403", "413", "415", "429", "500", "502", "503", "504"]),
    );
  });

  test.each(topologies)(
    "says where an Idempotency-Key is taken, and how a replay is told, %s",
    async (topology) => {
      const document = await fetchDocument(topology);
      const taking = operationsOf(document).filter(([, { parameters = [] }]) =>
        parameters.some(({ $ref }) => $ref === "#/components/parameters/IdempotencyKey"),
      );
      const spending = operationsOf(document).filter(([, { responses }]) => "402" in responses);
      expect(taking).toEqual(spending);
      expect(taking.map(([name]) => name)).toEqual(
        expect.arrayContaining(["post /v1/compat/chat/completions", "post /v1/compat/images/generations"]),
      );
      for (const [, { responses }] of taking) {
        expect(responses["200"]?.headers).toMatchObject({ "Idempotency-Replayed": expect.any(Object) });
        expect(Object.keys(responses)).toEqual(expect.arrayContaining(["409", "422"]));
      }
      expect(document.components["parameters"]).toMatchObject({
        IdempotencyKey: {
          name: "Idempotency-Key",
          in: "header",
          required: false,
          schema: { type: "string", minLength: 1, maxLength: 255 },
        },
      });
      const { IdempotencyKey } = document.components["parameters"] as Record<
        string,
        { schema: { pattern: string } }
      >;
      const pattern = new RegExp(IdempotencyKey?.schema.pattern ?? "");
      for (const key of ["k", "a b", "~".repeat(255)]) expect(key).toMatch(pattern);
      for (const key of ["", "k\u00fc", "k\n", "\u007f"]) expect(key).not.toMatch(pattern);
    },
  );

  test("is the same in both topologies", async () => {
    const [first, second] = await Promise.all(topologies.map(fetchDocument));
    expect(second).toEqual(first);
  });
});

describe("parts of the description", () => {
  test("each status of the error table is described once, with its codes", () => {
    const { responses } = buildOpenApi([]).components as {
      responses: Record<string, { description: string }>;
    };
    expect(Object.keys(responses).map(Number)).toEqual(
      expect.arrayContaining([...new Set(Object.values(errorTable).map(({ status }) => status))]),
    );
    expect(responses["402"]?.description).toContain("spend_limit_exceeded");
  });

  test("recursive and shared schemas keep pointing to themselves", () => {
    interface Tree {
      children: Tree[];
    }
    const tree: z.ZodType<Tree> = z.object({
      get children() {
        return z.array(tree);
      },
    });
    const { $schema: _, ...schema } = z.toJSONSchema(z.object({ tree, list: z.array(tree) }));
    const { $schema: __, ...root } = z.toJSONSchema(tree);
    const document = buildOpenApi([
      {
        "/v1/credits": {
          get: {
            responses: {
              200: { description: "a", content: { "application/json": { schema } } },
              201: { description: "b", content: { "application/json": { schema: root } } },
            },
          },
        },
      },
    ]);
    expect(pointersIn(document).filter((pointer) => pointer.includes("200")).length).toBeGreaterThan(2);
    expectSound(document);
  });

  test("a schema without shared parts is left alone", () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const components = new Map<string, object>();
    expect(hoistDefinitions(schema, "x", components)).toEqual(schema);
    expect(components.size).toBe(0);
  });
});
