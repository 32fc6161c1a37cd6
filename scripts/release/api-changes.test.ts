// Each loss for a client of the former API is found, and growth is none: in a small API, and in the committed description.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "@jest/globals";
import { ROOT } from "../tool.ts";
import { apiChanges } from "./api-changes.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests change documents at any place
type Document = any;

const api = (): Document => ({
  paths: {
    "/a": {
      get: { responses: { 200: { description: "a" } } },
      post: {
        parameters: [{ $ref: "#/components/parameters/Key" }],
        requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Tree" } } } },
        responses: {
          200: {
            headers: { "x-request-id": {} },
            content: { "application/json": { schema: { $ref: "#/components/schemas/Tree" } } },
          },
          404: { description: "missing" },
        },
      },
    },
  },
  components: {
    parameters: { Key: { name: "key", in: "header", schema: { type: "string", maxLength: 255 } } },
    schemas: {
      Tree: {
        type: "object",
        required: ["kind"],
        properties: {
          kind: { enum: ["leaf", "branch"] },
          size: { type: "integer", minimum: 0 },
          note: { anyOf: [{ type: "string" }, { type: "null" }] },
          children: { type: "array", items: { $ref: "#/components/schemas/Tree" } },
        },
      },
    },
  },
});
const post = (document: Document) => document.paths["/a"].post;
const tree = (document: Document) => document.components.schemas.Tree;
/** Changes the answer alone, to a copy of its schema. */
const answerTree = (document: Document) => {
  document.components.schemas.Answer = structuredClone(tree(document));
  post(document).responses[200].content["application/json"].schema.$ref = "#/components/schemas/Answer";
  return document.components.schemas.Answer;
};

const changesBy = (change: (document: Document) => unknown) => {
  const after = api();
  change(after);
  return apiChanges(api(), after);
};

describe("a loss is found", () => {
  test.each<[string, (document: Document) => unknown, string[]]>([
    ["a path", (it) => delete it.paths["/a"], ["/a: the path is gone"]],
    ["an operation", (it) => delete it.paths["/a"].get, ["GET /a: the operation is gone"]],
    ["an answer", (it) => delete post(it).responses[200], ["POST /a 200: the answer is gone"]],
    [
      "a header",
      (it) => delete post(it).responses[200].headers["x-request-id"],
      ["POST /a 200: the header x-request-id is gone"],
    ],
    [
      "a content type",
      (it) => delete post(it).requestBody.content["application/json"],
      ["POST /a request: application/json is gone"],
    ],
    ["a parameter", (it) => delete post(it).parameters, ["POST /a header key: the parameter is gone"]],
    [
      "a shorter parameter",
      (it) => (it.components.parameters.Key.schema.maxLength = 64),
      ["POST /a header key: maxLength is 64 now, was 255"],
    ],
    [
      "a required parameter",
      (it) => (it.components.parameters.Key.required = true),
      ["POST /a header key: the parameter is required now"],
    ],
    [
      "a required field",
      (it) => tree(it).required.push("size"),
      ["POST /a request.size: the field is required now"],
    ],
    [
      "a refused field",
      (it) => (tree(it).additionalProperties = false),
      ["POST /a request: other fields are refused now"],
    ],
    [
      "a stricter bound",
      (it) => (tree(it).properties.size.minimum = 1),
      ["POST /a request.size: minimum is 1 now, was 0"],
    ],
    [
      "a field of an answer",
      (it) => delete answerTree(it).properties.size,
      ["POST /a 200.size: the field is gone"],
    ],
    [
      "a field of an answer that may be missing",
      (it) => (answerTree(it).required = []),
      ["POST /a 200.kind: the field may be missing now"],
    ],
    [
      "a value of an answer",
      (it) => (answerTree(it).properties.kind.enum = ["leaf"]),
      ['POST /a 200.kind: the value "branch" is gone'],
    ],
    [
      "an answer of another type",
      (it) => (answerTree(it).properties.size = { anyOf: [{ type: "integer" }, { type: "null" }] }),
      ["POST /a 200.size: the answer may be of type null now"],
    ],
    [
      "a type of a request",
      (it) => {
        answerTree(it);
        tree(it).properties.note = { type: "string" };
      },
      ["POST /a request.note: null became string", "POST /a 200.children[].note: null became string"],
    ],
  ])("%s", (_name, change, sentences) => {
    expect(changesBy(change)).toEqual(sentences);
  });
});

test("a new path, operation, optional field, value, answer and wider bound are no losses", () => {
  const grow = (it: Document) => {
    it.paths["/b"] = it.paths["/a"];
    it.paths["/a"].put = it.paths["/a"].get;
    post(it).responses[202] = post(it).responses[200];
    delete post(it).responses[404];
    post(it).parameters.push({ name: "other", in: "query", schema: { type: "string" } });
    tree(it).properties.colour = { type: "string" };
    tree(it).properties.kind.enum.push("root");
    tree(it).properties.size.minimum = -1;
    tree(it).properties.kind.description = "the kind";
    answerTree(it).required.push("size");
  };
  expect(changesBy(grow)).toEqual([]);
});

describe("the committed description", () => {
  const read = (): Document => JSON.parse(readFileSync(join(ROOT, "docs/openapi.json"), "utf8"));
  const whole = read();
  const operations = Object.entries<Document>(whole.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => [method, path] as const),
  );

  test("has no loss against itself", () => {
    expect(apiChanges(whole, read())).toEqual([]);
  });

  test.each(operations)("%s %s: its end is found", (method, path) => {
    const less = read();
    delete less.paths[path][method];
    expect(apiChanges(whole, less)).toEqual([`${method.toUpperCase()} ${path}: the operation is gone`]);
  });
});
