// Guarantee of sample code: it has the form's values, in each language's own syntax.
import { expect, test } from "@jest/globals";
import { sampleCode } from "./sample-code.ts";

const code = (type: "text" | "image" | "video", body: Record<string, unknown>) =>
  Object.fromEntries(sampleCode("https://router.example", type, body).map(({ name, code }) => [name, code]));

test("a quote in a prompt does not end the word of the shell", () => {
  const { curl } = code("image", { model: "m", prompt: "it's" });
  expect(curl).toContain(`"prompt": "it'\\''s"`);
  expect(curl).toContain("https://router.example/v1/compat/images/generations");
});

test("Python gets Python's words for true and none", () => {
  const { Python } = code("video", { model: "m", audio: true, seconds: null });
  expect(Python).toContain('"audio": True, "seconds": None');
});

test("a body without a prompt gets one to begin with", () => {
  expect(code("text", { model: "m" })["Node"]).toContain('"content": "Hello"');
  expect(code("text", { model: "m", messages: [] })["Node"]).not.toContain("Hello");
});
