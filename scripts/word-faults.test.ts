// The measure of words finds each fault of our wording rules, and only in text.
import { expect, test } from "@jest/globals";
import { wordFigures } from "./word-faults.ts";

const rulesOf = (file: string, source: string) =>
  wordFigures(file, source).faults.map(({ line, rule }) => `${line} ${rule}`);

test("a comment without a noun is found, wherever the noun is missing", () => {
  const source = ["const who = 1;", "// What is left.", "/** The row, for whoever reads it. */", "f();"];
  expect(rulesOf("a.ts", source.join("\n"))).toEqual(["2 opener", "2 verb", "3 noun"]);
});

test("strings, templates, expressions and code spans are not text", () => {
  const source = [
    `f("// what", \`// who \${g(/\\/\\/ what/)}\`); // The value of \`what\`.`,
    "// biome-ignore who: what",
  ];
  expect(rulesOf("a.ts", source.join("\n"))).toEqual([]);
});

test("lines below each other are one comment, and only a sentence above 35 words is long", () => {
  const words = (count: number) => Array.from({ length: count }, () => "word").join(" ");
  const source = (count: number) => `// Word ${words(count / 2 - 1)}\n// ${words(count / 2)}.`;
  expect(rulesOf("a.ts", source(34))).toEqual([]);
  expect(rulesOf("a.ts", source(36))).toEqual(["1 sentence"]);
});

test("Markdown is read without its fences, links and code", () => {
  const source = [
    "# Who may call",
    "",
    "```sh",
    "who",
    "```",
    "- [Keys](what.md) and `who`.",
    "- It said so.",
  ];
  expect(rulesOf("a.md", source.join("\n"))).toEqual(["1 noun", "7 verb"]);
});

test("protocol buffers and SQL are read by their own marks", () => {
  expect(rulesOf("a.proto", "int32 a = 1; // What it costs.")).toEqual(["1 opener"]);
  expect(rulesOf("a.sql", "SELECT 1; -- Whoever asks.")).toEqual(["1 opener"]);
});

test("strings that people read are text: descriptions, errors, pages; those of tests and of code are not", () => {
  const source = [
    'const port = z.string().describe("where it " + "listens, for whoever calls");',
    `throw new ServiceError("invalid_value", \`The field \${name} is what fails.\`, { param });`,
    'const row = { description: "what it costs", key: "what", other: f("who asks") };',
    'const shown = <Text size="sm" label="who pays">Pages of whoever reads</Text>;',
  ];
  const lines = ["1 string", "2 string", "3 string", "4 string", "4 string"];
  expect(rulesOf("a.tsx", source.join("\n"))).toEqual(lines);
  expect(rulesOf("a.test.tsx", source.join("\n"))).toEqual([]);
});

test("descriptions of the API are text", () => {
  const source = ['{ "openapi": "what",', '  "description": "What it is",', '  "summary": "A name" }'];
  expect(rulesOf("openapi.json", source.join("\n"))).toEqual(["2 string"]);
});
