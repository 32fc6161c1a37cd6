// A bare name finds a model exactly if one id ends in it.
import { ServiceError } from "@gr/proto";
import { expect, test } from "@jest/globals";
import { ModelIds } from "./model-ids.ts";

const ids = [
  "openai/gpt-1",
  "azure/openai/gpt-2",
  "openai/gpt-2",
  "plain",
  "a/plain",
  "a/x",
  "b/x",
  "c/x",
  "d/x",
];
const models = new ModelIds(ids.map((id) => [id, id] as const));

function refusalOf(name: string): string {
  try {
    models.require(name);
  } catch (error) {
    if (error instanceof ServiceError && error.reason === "model_not_found") return error.message;
  }
  throw new Error(`${name} is not refused`);
}

test("an id finds its model, and a bare name the only model that ends in it", () => {
  for (const id of ids) expect(models.require(id)).toBe(id);
  expect(models.require("gpt-1")).toBe("openai/gpt-1");
  expect(models.require("plain")).toBe("plain");
});

test("an ambiguous name is refused with up to three ids, and only a whole last part is a name", () => {
  expect(refusalOf("gpt-2")).toBe(
    'Several models are named "gpt-2": "azure/openai/gpt-2", "openai/gpt-2". Use the whole id.',
  );
  expect(refusalOf("x")).toMatch(/: "a\/x", "b\/x", "c\/x", and 1 more\. /);
  for (const name of ["pt-1", "", "openai", "openai/gpt-2/", "/gpt-1"]) {
    expect(refusalOf(name)).toBe(`The model "${name}" does not exist.`);
    expect(models.find(name)).toBeUndefined();
  }
  expect(refusalOf("y".repeat(500)).length).toBeLessThan(250);
});
