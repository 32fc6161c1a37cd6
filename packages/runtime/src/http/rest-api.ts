// REST routes as data: one declaration validates requests, registers handlers and becomes the OpenAPI document.
import type { IncomingMessage } from "node:http";
import multipart from "@fastify/multipart";
import { ServiceError } from "@gr/proto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { callForBodies } from "../bodies/expected-bodies.ts";
import {
  FORM_TYPE,
  type FormRules,
  readFormBody,
  type TextReader,
  textReaders,
} from "../bodies/form-body.ts";
import { admitBodies, type BodyRules } from "../bodies/incoming-body.ts";
import { BODY_MESSAGES, readJsonBody } from "../bodies/json-body.ts";
import type { LongStrings } from "../bodies/parse-in-slices.ts";
import { parseRequest, refuseNul } from "../bodies/parse-request.ts";
import { registerScope } from "./http-app.ts";

const JSON_TYPE = "application/json";

/**
 * Decides about the caller of a route before the body is read.
 * @param principal null for a request without credentials
 * @returns the caller for the handler
 * @throws ServiceError if this principal may not call the route
 */
export type Access<Caller> = (principal: object | null) => Caller;

/** Admits each client, with and without credentials. */
export const anyone: Access<null> = () => null;

export interface RestRequest<Body = unknown, Query = unknown, Caller = unknown> {
  readonly body: Body;
  readonly query: Query;
  /** Result of the route's `access`. */
  readonly caller: Caller;
  readonly http: FastifyRequest;
  readonly reply: FastifyReply;
}

export interface RestRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Fastify syntax: "/v1/api-keys/:id", "/media/*". */
  readonly path: string;
  readonly summary: string;
  readonly access: Access<unknown>;
  readonly query?: z.ZodType;
  /** Effects of request headers, by header name; for the OpenAPI document. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Absent: the route accepts no body, and ignores any that a client sends. */
  readonly body?: z.ZodType;
  /**
   * "parsed" (the default): JSON, checked against `body`. "bytes": the handler gets the untouched bytes, which
   * json-guard.ts has accepted, and checks the rest itself; `body` is then documentation.
   */
  readonly bodyAs?: "parsed" | "bytes";
  /**
   * "cut": the value that `parseJsonBytes` returns for a long body has only the beginning of its long strings, and
   * `stringLengthIn` returns their lengths. Absent: it has them whole, which costs their size in memory once more.
   */
  readonly longStrings?: LongStrings;
  /** Absent: the route accepts no form. A form is checked against `body`, as JSON is. */
  readonly form?: FormRules;
  /** Limit of a JSON body, in bytes; 1 MB when absent. */
  readonly bodyLimit?: number;
  /** Documented answers by status. */
  readonly responses: Readonly<Record<number, RestAnswer>>;
  /** Returns the JSON answer, or sends it through `reply` and returns `reply`. */
  readonly handle: (request: RestRequest<never, never, never>) => Promise<unknown>;
}

export interface RestAnswer {
  readonly description: string;
  /** Schema of a JSON answer. */
  readonly schema?: z.ZodType;
  /** Alternative answers, by content type. */
  readonly others?: Readonly<Record<string, { readonly schema: z.ZodType; readonly example?: string }>>;
  /** Meaning of the answer's headers, by header name. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface RestApi {
  readonly routes: readonly RestRoute[];
  /** Absent: every caller of a route may send bodies up to the route's limit. */
  readonly bodies?: BodyRules;
  /** True: strings of parsed bodies and queries become text of PostgreSQL, so one with a NUL is refused. */
  readonly refusesNul?: boolean;
  /** Prepares the routes' own scope before they are added to it: hooks, an error handler. */
  readonly setup?: (scope: FastifyInstance) => Promise<void>;
}

/** Declares a route with a handler that has the types of its schemas. */
export function restRoute<
  Caller,
  Body extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
>(
  route: Omit<RestRoute, "handle" | "body" | "query" | "access"> & {
    access: Access<Caller>;
    body?: Body;
    query?: Query;
    handle: (request: RestRequest<z.infer<Body>, z.infer<Query>, Caller>) => Promise<unknown>;
  },
): RestRoute {
  return route as RestRoute;
}

/** Registers the routes in an encapsulated scope, so that their body parsers touch nothing else. */
export async function registerRest(app: FastifyInstance, api: RestApi): Promise<void> {
  await registerScope(app, "routes", async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(JSON_TYPE, async (request: FastifyRequest, payload: IncomingMessage) => {
      const { bodyAs } = request.routeOptions.config;
      if (bodyAs === "nothing") return undefined;
      refuseEncoding(request);
      const { bytes, value } = await readJsonBody(request, payload, bodyAs === "parsed");
      return bodyAs === "parsed" ? value : bytes;
    });
    scope.addContentTypeParser("*", (request, _stream, done) => {
      // The body is not read, so its type does not matter.
      if (request.routeOptions.config.bodyAs === "nothing") done(null);
      else done(otherBodyType(request));
    });
    if (api.bodies !== undefined) admitBodies(scope, api.bodies);
    callForBodies(scope);
    if (api.routes.some(({ form }) => form !== undefined)) await acceptForms(scope);
    await api.setup?.(scope);
    for (const route of api.routes) registerRoute(scope, route, api.refusesNul === true);
  });
}

/** The plugin accepts forms on each route of the scope, so routes without `form` refuse here. */
async function acceptForms(scope: FastifyInstance): Promise<void> {
  await scope.register(multipart);
  scope.addHook("preValidation", async (request) => {
    const { bodyAs, form } = request.routeOptions.config;
    if (!request.isMultipart() || bodyAs === "nothing") return;
    if (form === undefined) throw otherBodyType(request);
    refuseEncoding(request);
    request.body = await readFormBody(request, form.rules, form.readers());
  });
}

function registerRoute(scope: FastifyInstance, route: RestRoute, refusesNul: boolean): void {
  const { body: bodySchema, form } = route;
  scope.route({
    method: route.method,
    url: route.path,
    config: {
      bodyAs: bodySchema === undefined ? "nothing" : (route.bodyAs ?? "parsed"),
      longStrings: route.longStrings ?? "whole",
      ...(bodySchema === undefined || form === undefined
        ? {}
        : { form: { rules: form, readers: once(() => textReaders(jsonSchema(bodySchema, "input"))) } }),
    },
    ...(route.bodyLimit === undefined ? {} : { bodyLimit: route.bodyLimit }),
    onRequest: (http, _reply, done) => {
      route.access(http.principal ?? null);
      done();
    },
    handler: async (http, reply) => {
      const asBytes = route.bodyAs === "bytes";
      if (route.body !== undefined && http.body === undefined) {
        throw new ServiceError("invalid_json", `The request needs a body of the type ${bodyTypes(http)}.`);
      }
      const body = route.body === undefined || asBytes ? http.body : parseRequest(route.body, http.body);
      const query = route.query === undefined ? undefined : parseRequest(route.query, http.query);
      // After the schemas: unread members do no harm, and the schemas' own messages are better.
      if (refusesNul) {
        if (!asBytes) refuseNul(body);
        refuseNul(query);
      }
      const caller = route.access(http.principal ?? null);
      return route.handle({ body, query, caller, http, reply } as RestRequest<never, never, never>);
    },
  });
}

/** Returns a function with the result of the first call: most processes never need it. */
function once<Result extends object>(create: () => Result): () => Result {
  let result: Result | undefined;
  return () => {
    result ??= create();
    return result;
  };
}

function bodyTypes({ routeOptions }: FastifyRequest): string {
  return routeOptions.config.form === undefined ? JSON_TYPE : `${JSON_TYPE} or ${FORM_TYPE}`;
}

function otherBodyType(request: FastifyRequest): ServiceError {
  return new ServiceError("unsupported_media_type", BODY_MESSAGES.otherType(bodyTypes(request)));
}

function refuseEncoding({ headers }: FastifyRequest): void {
  const { "content-encoding": encoding = "identity" } = headers;
  if (encoding.toLowerCase() === "identity") return;
  const message = "Encoded bodies are not supported; send no Content-Encoding.";
  throw new ServiceError("unsupported_media_type", message);
}

/** OpenAPI path items of the routes, generated from the schemas that validate. */
export function describeRoutes(api: RestApi): Record<string, object> {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of api.routes) {
    const names = [...route.path.matchAll(/:(\w+)|\*/g)].map(([, name]) => name ?? "path");
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}").replaceAll("*", "{path}");
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeRoute(route, names) };
  }
  return paths;
}

function describeRoute(route: RestRoute, pathNames: readonly string[]): object {
  const query = route.query === undefined ? {} : jsonSchema(route.query, "input");
  const queryProperties = Object.entries((query as { properties?: Record<string, object> }).properties ?? {});
  const parameters = [
    ...pathNames.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
    ...queryProperties.map(([name, schema]) => ({ name, in: "query", required: false, schema })),
    ...Object.entries(route.headers ?? {}).map(([name, description]) => {
      return { name, in: "header", required: false, description, schema: { type: "string" } };
    }),
  ];
  return {
    summary: route.summary,
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(route.body === undefined ? {} : { requestBody: describeBody(route.body, route.form) }),
    responses: Object.fromEntries(
      Object.entries(route.responses).map(([status, answer]) => [status, describeAnswer(answer)]),
    ),
  };
}

function describeBody(body: z.ZodType, form: FormRules | undefined): object {
  const described = (schema: z.ZodType) => ({ schema: jsonSchema(schema, "input") });
  const forms = form === undefined ? {} : { [FORM_TYPE]: described(form.schema) };
  return { required: true, content: { [JSON_TYPE]: described(body), ...forms } };
}

function describeAnswer({ description, schema, others = {}, headers = {} }: RestAnswer): object {
  const kinds = [
    ...(schema === undefined ? [] : [["application/json", { schema: jsonSchema(schema, "output") }]]),
    ...Object.entries(others).map(([type, other]) => [
      type,
      { ...other, schema: jsonSchema(other.schema, "output") },
    ]),
  ];
  const described = Object.entries(headers).map(([name, words]) => [
    name,
    { description: words, schema: { type: "string" } },
  ]);
  return {
    description,
    ...(described.length === 0 ? {} : { headers: Object.fromEntries(described) }),
    ...(kinds.length === 0 ? {} : { content: Object.fromEntries(kinds) }),
  };
}

/**
 * Mark of a second spelling of a field, for `meta`: it is accepted and not described, because generators of clients make
 * one name of `image[]` and `image`, and then leave out the whole operation.
 */
export const ALIAS = "x-alias";

function jsonSchema(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, {
    io,
    unrepresentable: "any",
    // An answer may get a new member tomorrow, which breaks no reader of today's description.
    override: ({ jsonSchema: part }) => {
      if (io === "output" && part.additionalProperties === false) delete part.additionalProperties;
      for (const [name, field] of Object.entries(part.properties ?? {})) {
        if (typeof field === "object" && ALIAS in field) delete part.properties?.[name];
      }
    },
  });
  return rest;
}

declare module "fastify" {
  interface FastifyContextConfig {
    bodyAs?: "nothing" | "parsed" | "bytes";
    longStrings?: LongStrings;
    form?: { readonly rules: FormRules; readonly readers: () => ReadonlyMap<string, TextReader> };
  }
}
