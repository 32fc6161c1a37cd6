// The OpenAPI document describes the whole API: the routes of the modules, with callers and failures from the gateway.
// Every fact is in one place only. The document is built on demand and again after some time, because modules in other
// processes are replaced at times of their own.
import { errorTable } from "@gr/proto";
import type { Clock, ModuleContext } from "@gr/runtime";
import type { FastifyInstance } from "fastify";
import { StaticAnswer, type StaticAnswerOptions } from "../answers/static-answer.ts";
import { type Access, type RouteRow, rowOf } from "../routes.ts";
import { hoistDefinitions } from "./hoist-definitions.ts";

export const OPENAPI_PATH = "/openapi.json";

const KEPT_MS = 60_000;
/** Label of the description, as the API's contract fixes it. */
const API_VERSION = "0.0.1";

/** Names of the groups of operations for people. Generated clients use the name of the module. */
const GROUPS = [
  {
    name: "text-proxy",
    "x-displayName": "Text",
    description: "Chats and responses, and their prices before.",
  },
  {
    name: "media-generation",
    "x-displayName": "Images, videos, log and webhooks",
    description: "Generation of images and videos, the log of all requests, and webhooks.",
  },
  { name: "catalog", "x-displayName": "Models", description: "The catalogue with prices." },
  { name: "keys", "x-displayName": "API keys", description: "Keys of an account, for management keys." },
  { name: "billing", "x-displayName": "Credits", description: "Balance and spend." },
];

interface MediaTypes {
  readonly content?: Record<string, { schema?: object }>;
}

interface Response extends MediaTypes {
  readonly description?: string;
  readonly headers?: Record<string, object>;
}

interface Operation {
  readonly parameters?: readonly object[];
  readonly requestBody?: MediaTypes;
  readonly responses?: Record<string, Response>;
}

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly tags: readonly object[];
  readonly paths: Record<string, Record<string, object>>;
  readonly components: Record<string, object>;
}

/** @param parts path items of each module, as returned by `describeRest`. */
export function buildOpenApi(parts: readonly Record<string, object>[]): OpenApiDocument {
  const schemas = new Map<string, object>([["Error", errorSchema]]);
  const paths: Record<string, Record<string, object>> = {};
  for (const part of parts) {
    for (const [path, item] of Object.entries(part)) {
      const operations = Object.entries(item as Record<string, Operation>).flatMap(([method, operation]) => {
        const row = rowOf(path, method.toUpperCase());
        if (row === undefined) return [];
        return [[method, completeOperation(operation, operationId(method, path), row, schemas)] as const];
      });
      if (operations.length > 0) paths[path] = Object.fromEntries(operations);
    }
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Generation Router",
      version: API_VERSION,
      description:
        "One API in front of many image, video and text models, with prepaid credits and API keys.",
      license: { name: "Apache License 2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/", description: "Address of this description" }],
    tags: GROUPS,
    paths,
    components: {
      securitySchemes,
      schemas: Object.fromEntries(schemas),
      parameters: { IdempotencyKey: idempotencyKey, MaxCost: maxCost },
      headers: {
        IdempotencyReplayed: idempotencyReplayed,
        RequestId: requestId,
        RetryAfter: retryAfter,
      },
      responses: errorResponses(),
    },
  };
}

function completeOperation(operation: Operation, id: string, row: RouteRow, schemas: Map<string, object>) {
  // A spending request runs once per Idempotency-Key, in every module.
  const once = row.spends && operation.requestBody !== undefined;
  const responses = Object.entries(operation.responses ?? {}).map(([status, response]) => {
    if (Number(status) >= 400) return [status, asError(status, response)];
    const hoisted = hoistContent(response, `${id}_${status}`, schemas);
    return [status, withHeaders(hoisted, once && status.startsWith("2"))];
  });
  const failures = statusesOf(row, operation.requestBody !== undefined).map((status) => [
    String(status),
    { $ref: `#/components/responses/${status}` },
  ]);
  return {
    operationId: id,
    tags: [row.module],
    ...operation,
    ...(once ? { parameters: [...(operation.parameters ?? []), IDEMPOTENCY_KEY, MAX_COST] } : {}),
    ...(operation.requestBody === undefined
      ? {}
      : { requestBody: hoistContent(operation.requestBody, `${id}_request`, schemas) }),
    // A module's own text for a status precedes the text for all routes.
    responses: { ...Object.fromEntries(failures), ...Object.fromEntries(responses) },
    security: securityOf(row.access),
  };
}

function withHeaders(response: Response, mayBeReplayed: boolean): Response {
  const headers = {
    ...response.headers,
    "x-request-id": REQUEST_ID,
    ...(mayBeReplayed ? { "Idempotency-Replayed": IDEMPOTENCY_REPLAYED } : {}),
  };
  return { ...response, headers };
}

/**
 * Returns the refusal in the common form: every refusal has the same body and headers, because one place renders them.
 */
function asError(status: string, { headers, ...response }: Response): Response {
  const retry = RETRIED.has(Number(status)) ? { "Retry-After": RETRY_AFTER } : {};
  return { ...response, headers: { ...headers, "x-request-id": REQUEST_ID, ...retry }, content: ERROR_BODY };
}

function hoistContent<Part extends MediaTypes>(part: Part, name: string, schemas: Map<string, object>): Part {
  if (part.content === undefined) return part;
  const content = Object.entries(part.content).map(([type, media]) => [
    type,
    media.schema === undefined ? media : { ...media, schema: hoistDefinitions(media.schema, name, schemas) },
  ]);
  return { ...part, content: Object.fromEntries(content) };
}

function operationId(method: string, path: string): string {
  return `${method}${path.replaceAll(/[^A-Za-z0-9]+/g, "_")}`.replace(/_$/, "");
}

function statusesOf(row: RouteRow, hasBody: boolean): number[] {
  return [
    400,
    404,
    429,
    431,
    500,
    503,
    ...(hasBody ? [408, 413, 415] : []),
    ...(row.access === "public" ? [] : [401]),
    // The body names a model, which the key may not allow.
    ...(row.access === "normal" && hasBody ? [403] : []),
    ...(row.spends ? [402, 409, 422, 502, 504] : []),
  ];
}

function securityOf(access: Access): object[] {
  switch (access) {
    case "normal":
      return [{ apiKey: [] }];
    case "management":
      return [{ managementKey: [] }];
    case "optional":
      return [{}, { apiKey: [] }];
    case "public":
      return [];
  }
}

const IDEMPOTENCY_KEY = { $ref: "#/components/parameters/IdempotencyKey" };
const MAX_COST = { $ref: "#/components/parameters/MaxCost" };
const IDEMPOTENCY_REPLAYED = { $ref: "#/components/headers/IdempotencyReplayed" };
const REQUEST_ID = { $ref: "#/components/headers/RequestId" };
const RETRY_AFTER = { $ref: "#/components/headers/RetryAfter" };
const ERROR_BODY = { "application/json": { schema: { $ref: "#/components/schemas/Error" } } };
/** Statuses that may have a retry time. */
const RETRIED: ReadonlySet<number> = new Set([409, 429, 503]);

const idempotencyKey = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description:
    "Random value of the client, a new one for each request. It belongs to the API key of the request; for a web token, " +
    "to the person. For 24 hours the router runs and charges the request at most once: " +
    "a repeat receives the first answer (Idempotency-Replayed: true), or 409 while the request is still running. " +
    "A different request with the same key is refused with 422. After a failed request its key is free.",
  schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[\\x20-\\x7e]+$" },
};

const maxCost = {
  name: "x-max-cost",
  in: "header",
  required: false,
  description:
    "Maximum cost of the request in USD. If the highest possible cost, as quoted by POST /v1/quote/…, is above it, the router " +
    "answers 400 (max_cost_exceeded), and sends and charges nothing.",
  schema: { type: "string", pattern: "^\\d{1,12}(\\.\\d{1,12})?$" },
};

const idempotencyReplayed = {
  description: "Present if this is the answer of an earlier request with the same Idempotency-Key.",
  schema: { type: "string", enum: ["true"] },
};

const requestId = {
  description: "Id of this request, in the log of the account and for questions to the operator.",
  schema: { type: "string", format: "uuid" },
};

const retryAfter = {
  description: "Seconds until a retry can help, if known.",
  schema: { type: "integer", minimum: 1 },
};

const securitySchemes = {
  apiKey: { type: "http", scheme: "bearer", description: "A normal API key, or a temporary web token." },
  managementKey: { type: "http", scheme: "bearer", description: "A management key." },
};

const errorSchema = {
  type: "object",
  required: ["error"],
  properties: {
    error: {
      type: "object",
      required: ["message", "type"],
      properties: {
        message: { type: "string" },
        type: { type: "string", enum: [...new Set(Object.values(errorTable).map(({ type }) => type))] },
        param: { type: "string", description: "The field at fault." },
        code: { type: "string" },
      },
    },
  },
};

/** One answer for each status of the error table; its description lists the codes. */
function errorResponses(): Record<string, object> {
  const codes = new Map<number, Set<string>>();
  for (const row of Object.values(errorTable)) {
    const known = codes.get(row.status) ?? new Set();
    codes.set(row.status, known.add("code" in row ? row.code : row.type));
  }
  return Object.fromEntries(
    [...codes].map(([status, known]) => [
      status,
      asError(String(status), { description: [...known].join(", ") }),
    ]),
  );
}

export interface OpenApiSource {
  readonly modules: readonly string[];
  readonly describeRest: ModuleContext<unknown>["describeRest"];
  readonly clock: Clock;
}

const DESCRIPTION: StaticAnswerOptions = {
  type: "application/json; charset=utf-8",
  cacheControl: "no-cache",
};

/** Serves the document. If a module does not answer, the answer is 503, never a document with a missing part. */
export function serveOpenApi(app: FastifyInstance, { modules, describeRest, clock }: OpenApiSource): void {
  let kept: { answer: Promise<StaticAnswer>; until: number } | undefined;
  let last: StaticAnswer | undefined;
  const build = async (): Promise<StaticAnswer> => {
    const parts = await Promise.all(modules.map((module) => describeRest(module)));
    const text = JSON.stringify(buildOpenApi(parts));
    // The same text is compressed once.
    if (last?.text !== text) last = new StaticAnswer(text, DESCRIPTION);
    return last;
  };
  app.get(OPENAPI_PATH, async (request, reply) => {
    if (kept === undefined || kept.until <= clock.now()) {
      const answer = build().catch((error: unknown) => {
        kept = undefined;
        throw error;
      });
      kept = { answer, until: clock.now() + KEPT_MS };
    }
    return (await kept.answer).send(request, reply);
  });
}
