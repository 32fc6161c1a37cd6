// One declaration of a route validates its requests and describes it.

import { ServiceError } from "@gr/proto";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { FormFile } from "../bodies/form-body.ts";
import { createLogger } from "../process/logger.ts";
import { createHttpApp } from "./http-app.ts";
import { type Access, anyone, describeRoutes, type RestApi, registerRest, restRoute } from "./rest-api.ts";

const thing = z.object({
  name: z.string().min(1).max(5),
  size: z.number().nullable().optional(),
  tags: z.array(z.object({ key: z.string() })).optional(),
});
const api: RestApi = {
  routes: [
    restRoute({
      method: "POST",
      path: "/things/:id",
      access: anyone,
      summary: "Make a thing",
      headers: { Prefer: "how to answer" },
      body: thing,
      query: z.object({
        dry: z.enum(["true", "false"]).optional(),
        limit: z.coerce.number().int().optional(),
      }),
      responses: {
        201: { description: "Made", schema: z.object({ id: z.string() }) },
        204: { description: "Not needed" },
      },
      handle: async ({ body, query, http, reply }) => {
        void reply.status(201);
        return { id: (http.params as { id: string }).id, body, query };
      },
    }),
    restRoute({
      method: "POST",
      path: "/bytes",
      access: anyone,
      summary: "Take bytes",
      body: thing,
      bodyAs: "bytes",
      bodyLimit: 40,
      responses: {
        200: {
          description: "Taken",
          schema: z.object({ length: z.int() }),
          others: { "text/plain": { schema: z.string(), example: "12" } },
          headers: { Location: "where it is" },
        },
      },
      handle: async ({ body }) => ({ length: (body as unknown as Buffer).length }),
    }),
    restRoute({
      method: "POST",
      path: "/forms",
      access: anyone,
      summary: "Take a form",
      body: thing.extend({ isNew: z.boolean().nullish(), file: z.unknown().optional() }),
      form: {
        schema: thing.extend({ file: z.file() }),
        maxBytes: 2_000,
        maxFileBytes: 100,
        fileFields: ["file"],
      },
      responses: { 200: { description: "Taken" } },
      handle: async ({ body }) => {
        const { file, ...fields } = body;
        return { ...fields, file: file instanceof FormFile ? file.release().toString() : file };
      },
    }),
    restRoute({
      method: "GET",
      path: "/files/*",
      access: anyone,
      summary: "A file",
      responses: { 200: { description: "The file", others: { "image/webp": { schema: z.file() } } } },
      handle: async () => ({}),
    }),
    restRoute({
      method: "DELETE",
      path: "/things/:id",
      access: anyone,
      summary: "Delete",
      responses: { 200: { description: "Deleted" } },
      handle: async () => ({}),
    }),
  ],
};

describe("requests", () => {
  let app: FastifyInstance;
  beforeAll(async () => {
    app = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "id" });
    await registerRest(app, api);
  });
  afterAll(() => app.close());
  const send = async (payload: string | Buffer, url = "/things/1", contentType = "application/json") => {
    const { statusCode, body } = await app.inject({
      method: "POST",
      url,
      payload,
      headers: { "content-type": contentType, host: "x" },
    });
    return { status: statusCode, body: JSON.parse(body) };
  };

  test("a handler gets what the schemas made of body and query", async () => {
    const { status, body } = await send(
      '{"name":"a","size":null,"more":1}',
      "/things/x?dry=true&limit=3&z=1",
    );
    expect(status).toBe(201);
    expect(body).toEqual({ id: "x", body: { name: "a", size: null }, query: { dry: "true", limit: 3 } });
  });

  test.each([
    ['{"name":""}', "name"],
    ['{"name":"abcdef"}', "name"],
    ["{}", "name"],
    ['{"name":"a","size":"1"}', "size"],
    ['{"name":"a","tags":[{"key":"k"},{"key":1}]}', "tags[1].key"],
    ["[]", undefined],
    ["null", undefined],
    ['"text"', undefined],
  ])("%s is refused, and the field at fault is named", async (payload, param) => {
    const { status, body } = await send(payload);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: "invalid_request_error", code: "invalid_value" });
    expect(body.error.param).toBe(param);
  });

  test("a query that is not valid is refused with its parameter", async () => {
    const { status, body } = await send('{"name":"a"}', "/things/1?dry=maybe");
    expect([status, body.error.param]).toEqual([400, "dry"]);
  });

  test.each([
    ["", "empty"],
    ["{", "not valid JSON"],
    ["{'name':1}", "not valid JSON"],
    ['\ufeff{"name":"a"}', "byte order mark"],
    [Buffer.from([0x7b, 0x22, 0xc3, 0x28, 0x22, 0x3a, 0x31, 0x7d]), "not valid JSON"],
    ['{"name":"a","__proto__":{"admin":true}}', "a name that no field may have"],
    ['{"name":"a","tags":[{"__proto__":1}]}', "a name that no field may have"],
  ])("%p is not a JSON body", async (payload, why) => {
    const { status, body } = await send(payload);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ type: "invalid_request_error", code: "invalid_json" });
    expect(body.error.message).toContain(why);
  });

  test("a route refuses a caller before it reads the body, and its handler receives an admitted caller", async () => {
    const guarded = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "id" });
    guarded.addHook("onRequest", async (request) => {
      request.principal = request.headers.authorization === undefined ? null : { name: "Ann" };
    });
    const signedIn: Access<{ name: string }> = (principal) => {
      if (principal === null) throw new ServiceError("invalid_api_key", "Send a key.");
      return principal as { name: string };
    };
    const guardedRoute = restRoute({
      ...{ method: "POST", path: "/guarded", access: signedIn, summary: "Guarded", body: thing },
      responses: { 200: { description: "Done" } },
      handle: async ({ caller }) => ({ name: caller.name }),
    });
    await registerRest(guarded, { routes: [guardedRoute] });
    const send = (headers: Record<string, string>, payload: string) =>
      guarded.inject({
        ...{ method: "POST", url: "/guarded", payload },
        headers: { "content-type": "application/json", ...headers },
      });
    const refused = await send({}, "no JSON");
    expect([refused.statusCode, refused.json().error.code]).toEqual([401, "invalid_api_key"]);
    expect((await send({ authorization: "Ann" }, "no JSON")).statusCode).toBe(400);
    expect((await send({ authorization: "Ann" }, '{"name":"a"}')).json()).toEqual({ name: "Ann" });
    await guarded.close();
  });

  test("NUL is text like any other, but for an API that refuses it in bodies and queries", async () => {
    const stores = createHttpApp({ log: createLogger("silent", "test"), requestId: () => "id" });
    const search = z.object({ text: z.string().optional() });
    const prompt = z.looseObject({ prompt: z.string() });
    const responses = { 200: { description: "Done" } };
    const route = (path: string) =>
      restRoute({
        ...{ method: "POST", path, access: anyone, summary: "Take", body: prompt, query: search, responses },
        handle: async ({ body }) => ({ body }),
      });
    await registerRest(stores, { routes: [route("/any")] });
    await registerRest(stores, { routes: [route("/stored")], refusesNul: true });
    const send = async (url: string, payload: object) => {
      const { statusCode, body } = await stores.inject({ method: "POST", url, payload });
      return [statusCode, JSON.parse(body).error?.param];
    };
    expect(await send("/any?text=%00", { prompt: "a\0b" })).toEqual([200, undefined]);
    expect(await send("/stored?text=a", { prompt: "a" })).toEqual([200, undefined]);
    expect(await send("/stored", { prompt: "a\0b" })).toEqual([400, "prompt"]);
    expect(await send("/stored", { prompt: "a", more: [{ b: "\0" }] })).toEqual([400, "more[0].b"]);
    expect(await send("/stored", { prompt: "a", more: { "\0": 1 } })).toEqual([400, "more"]);
    expect(await send("/stored?text=%00", { prompt: "a" })).toEqual([400, "text"]);
    await stores.close();
  });

  test("a route that wants bytes gets them unread", async () => {
    expect((await send("not JSON", "/bytes")).body).toEqual({ length: 8 });
    expect((await send("x".repeat(41), "/bytes")).status).toBe(413);
  });

  test.each([
    ['{"a":[{"b":1,"b":2}]}', "a[0].b"],
    ['{"a":{"\\u005f_proto__":1}}', "a.__proto__"],
  ])("a route that wants bytes gets none that can be read in two ways: %s", async (json, param) => {
    const { status, body } = await send(json, "/bytes");
    expect([status, body.error]).toMatchObject([400, { code: "invalid_json", param }]);
  });

  test("a content type that no route has asked for is refused", async () => {
    for (const type of [
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
    ]) {
      expect((await send("name=a", "/things/1", type)).status).toBe(415);
    }
    for (const type of [
      "application/json; charset=utf-8",
      "Application/JSON",
      "APPLICATION/JSON;Charset=UTF-8",
    ]) {
      expect((await send('{"name":"a"}', "/things/1", type)).status).toBe(201);
    }
  });

  describe("a route with a form", () => {
    const FORM = "multipart/form-data; boundary=b";
    const part = (name: string, value: string, more = "") =>
      `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
    const formOf = (...parts: string[]) => `${parts.join("")}--b--\r\n`;
    const file = (name: string, value: string) => part(name, value, '; filename="a"');

    test("gets the values that JSON has, and files", async () => {
      const form = formOf(
        part("name", "12"),
        part("size", "3.5"),
        part("isNew", "true"),
        file("file", "abc"),
      );
      const expected = { name: "12", size: 3.5, isNew: true };
      expect(await send(form, "/forms", FORM)).toEqual({ status: 200, body: { ...expected, file: "abc" } });
      expect(await send(JSON.stringify(expected), "/forms")).toEqual({ status: 200, body: expected });
    });

    test.each([
      ["a field beyond its schema", formOf(part("name", "abcdef")), "name"],
      ["a text where a number belongs", formOf(part("name", "a"), part("size", "1e3")), "size"],
      ["a repeated field", formOf(part("name", "a"), part("name", "b")), "name"],
      ["a file where a text belongs", formOf(file("name", "a")), "name"],
    ])("refuses %s as it does in JSON", async (_case, form, param) => {
      const { status, body } = await send(form, "/forms", FORM);
      expect([status, body.error.code, body.error.param]).toEqual([400, "invalid_value", param]);
    });

    test.each([
      ["no form", "no form"],
      ["no end", part("name", "a")],
      ["a name of Object.prototype", formOf(part("__proto__", "a"))],
    ])("refuses a body with %s", async (_case, form) => {
      const { status, body } = await send(form, "/forms", FORM);
      expect([status, body.error.code]).toEqual([400, "invalid_value"]);
    });

    test.each([
      ["file", formOf(part("name", "a"), file("file", "x".repeat(101)))],
      ["file in another field", formOf(part("name", "a"), file("other", "x".repeat(101)))],
      ["text", formOf(part("name", "x".repeat(1_135)))],
      ["form", formOf(...Array.from({ length: 20 }, () => file("file", "x".repeat(100))))],
      ["number of fields", formOf(...Array.from({ length: 65 }, () => part("n", "")))],
    ])("refuses a %s above the limit", async (_case, form) => {
      const { status, body } = await send(form, "/forms", FORM);
      expect([status, body.error.code]).toEqual([413, "body_too_large"]);
    });

    test("names both types in its refusals, and accepts no encoded form", async () => {
      const other = await send("name=a", "/forms", "text/plain");
      expect([other.status, other.body.error.message]).toEqual([
        415,
        expect.stringContaining("application/json or multipart/form-data"),
      ]);
      const none = await app.inject({ method: "POST", url: "/forms", headers: { host: "x" } });
      expect([none.statusCode, none.json().error.message]).toEqual([
        400,
        expect.stringContaining("application/json or multipart/form-data"),
      ]);
      const encoded = await app.inject({
        ...{ method: "POST", url: "/forms", payload: formOf(part("name", "a")) },
        headers: { host: "x", "content-type": FORM, "content-encoding": "gzip" },
      });
      expect([encoded.statusCode, encoded.json().error.message]).toEqual([
        415,
        expect.stringContaining("Encoding"),
      ]);
    });
  });

  test("a route that takes no body does not mind one, of whatever type and however broken", async () => {
    for (const type of [
      "application/json",
      "text/plain",
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=b",
      undefined,
    ]) {
      const { statusCode } = await app.inject({
        method: "DELETE",
        url: "/things/1",
        payload: "{",
        headers: { host: "x", "content-encoding": "gzip", ...(type && { "content-type": type }) },
      });
      expect([type, statusCode]).toEqual([type, 200]);
    }
  });

  test("a body that is compressed is refused as such", async () => {
    for (const url of ["/things/1", "/bytes"]) {
      const encoded = (encoding: string) =>
        app.inject({
          method: "POST",
          url,
          payload: '{"name":1}',
          headers: { host: "x", "content-type": "application/json", "content-encoding": encoding },
        });
      const { statusCode, body } = await encoded("gzip");
      expect([statusCode, JSON.parse(body).error.message]).toEqual([
        415,
        expect.stringContaining("Encoding"),
      ]);
      expect((await encoded("Identity")).statusCode).not.toBe(415);
    }
  });

  test("a body that is missing is asked for", async () => {
    const { statusCode, body } = await app.inject({
      method: "POST",
      url: "/things/1",
      headers: { host: "x" },
    });
    expect([statusCode, JSON.parse(body).error.code]).toEqual([400, "invalid_json"]);
  });
});

describe("the description", () => {
  const paths = describeRoutes(api) as Record<string, Record<string, Record<string, unknown>>>;

  test("has each path in OpenAPI's spelling, with its methods", () => {
    expect(Object.entries(paths).map(([path, item]) => [path, Object.keys(item)])).toEqual([
      ["/things/{id}", ["post", "delete"]],
      ["/bytes", ["post"]],
      ["/forms", ["post"]],
      ["/files/{path}", ["get"]],
    ]);
  });

  test("says what validates: body, query, path", () => {
    const post = paths["/things/{id}"]?.["post"];
    expect(post?.["requestBody"]).toMatchObject({
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string", minLength: 1, maxLength: 5 } },
          },
        },
      },
    });
    expect(post?.["parameters"]).toEqual([
      { name: "id", in: "path", required: true, schema: { type: "string" } },
      { name: "dry", in: "query", required: false, schema: { type: "string", enum: ["true", "false"] } },
      expect.objectContaining({ name: "limit", in: "query", required: false }),
      {
        name: "Prefer",
        in: "header",
        required: false,
        description: "how to answer",
        schema: { type: "string" },
      },
    ]);
    expect(paths["/files/{path}"]?.["get"]?.["parameters"]).toMatchObject([{ name: "path", in: "path" }]);
  });

  test("says what is answered, in which content type", () => {
    expect(paths["/things/{id}"]?.["post"]?.["responses"]).toMatchObject({
      201: { description: "Made", content: { "application/json": { schema: { type: "object" } } } },
      204: { description: "Not needed" },
    });
    expect(paths["/files/{path}"]?.["get"]?.["responses"]).toEqual({
      200: {
        description: "The file",
        content: {
          "image/webp": { schema: { type: "string", format: "binary", contentEncoding: "binary" } },
        },
      },
    });
    expect(paths["/bytes"]?.["post"]?.["responses"]).toMatchObject({
      200: {
        headers: { Location: { description: "where it is", schema: { type: "string" } } },
        content: {
          "application/json": { schema: { type: "object" } },
          "text/plain": { schema: { type: "string" }, example: "12" },
        },
      },
    });
  });

  test("leaves room for members that an answer has tomorrow", () => {
    expect(JSON.stringify(paths)).not.toContain("additionalProperties");
  });

  test("names every content type that a body may have", () => {
    expect(paths["/forms"]?.["post"]?.["requestBody"]).toMatchObject({
      content: {
        "application/json": { schema: { required: ["name"] } },
        "multipart/form-data": {
          schema: { required: ["name", "file"], properties: { file: { type: "string", format: "binary" } } },
        },
      },
    });
  });
});
