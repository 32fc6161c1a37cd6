// Guarantees of allow-lists: a key uses the models and providers that it names, and no others.
import { ServiceError } from "@gr/proto";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { allowsModel, namesModel, requireAllowed } from "./allow-lists.ts";

const model = { id: "openai/gpt-5", routes: [{ provider: "openrouter" }, { provider: "openai" }] };

const outcome = (lists: Parameters<typeof requireAllowed>[0]) => {
  try {
    return requireAllowed(lists, model).routes.map(({ provider }) => provider);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return [error.reason, error.param, error.message];
  }
};

test.each([
  ["openai/gpt-5", true],
  ["openai/gpt-5*", true],
  ["openai/*", true],
  ["*", true],
  ["openai/gpt-", false],
  ["gpt-5", false],
  ["gpt-5*", false],
  ["OpenAI/gpt-5", false],
  ["openai/gpt-5-mini", false],
  ["openai/gpt-50*", false],
])("%s names openai/gpt-5: %p", (name, expected) => {
  expect(namesModel(name, model.id)).toBe(expected);
});

test("a name with * matches each id that begins with the name, and nothing else", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (beginning, id) => {
      expect(namesModel(`${beginning}*`, id)).toBe(id.startsWith(beginning));
      expect(namesModel(`${beginning}*`, beginning + id)).toBe(true);
    }),
  );
});

test("without lists the model stays the same object", () => {
  expect(requireAllowed(undefined, model)).toBe(model);
  expect(requireAllowed({ models: ["openai/*"] }, model)).toBe(model);
});

test.each([
  [{ providers: ["openai"] }, ["openai"]],
  [{ providers: ["openai", "openrouter"] }, ["openrouter", "openai"]],
  [{ models: ["openai/gpt-5"], providers: ["openrouter", "fal"] }, ["openrouter"]],
])("%j leaves the routes %j, in their order", (lists, routes) => {
  expect(outcome(lists)).toEqual(routes);
  expect(allowsModel(lists, model)).toBe(true);
});

test.each([
  [{ models: ["openai/gpt-5-mini"] }, 'The API key does not allow the model "openai/gpt-5".'],
  [{ providers: ["fal"] }, 'The API key allows no provider of the model "openai/gpt-5".'],
  [{ models: ["x/y"], providers: ["openai"] }, 'The API key does not allow the model "openai/gpt-5".'],
])("%j is refused", (lists, message) => {
  expect(outcome(lists)).toEqual(["model_not_allowed", "model", message]);
  expect(allowsModel(lists, model)).toBe(false);
});
