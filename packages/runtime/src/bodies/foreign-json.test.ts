// Guarantees of foreign JSON: the bounds of clients' bodies, for every length.
import { describe, expect, test } from "@jest/globals";
import { parseForeignJson, readForeignJson } from "./foreign-json.ts";

const work = { owner: "provider" };
const long = { text: `é"\\\n`.repeat(100_000), list: Array.from({ length: 200_000 }, (_, n) => n) };

describe.each([
  ["at once", async (json: Buffer) => parseForeignJson(json)],
  ["in turns", (json: Buffer) => readForeignJson(json, work)],
])("JSON of a provider that is read %s", (_, read) => {
  test("is understood as JSON.parse does, with more values than a request may have", async () => {
    const bytes = Buffer.from(JSON.stringify(long));
    expect(await read(bytes)).toEqual(long);
    expect(await read(Buffer.from('{"a":1,"a":2}'))).toEqual({ a: 2 });
    const twice = Buffer.from(`{"a":1,"a":2,"b":"${"x".repeat(300_000)}"}`);
    expect(await read(twice)).toMatchObject({ a: 2 });
  });

  test.each([
    ["is too deep", "[".repeat(400_000), /nested more than 128/],
    ["has too many values", `[${"{},".repeat(600_000)}1]`, /values/],
    ["would change a prototype", `{"__proto__":{"a":1},"b":"${"x".repeat(300_000)}"}`, /__proto__/],
    ["is cut", JSON.stringify(long).slice(0, -1), /./],
  ])("is refused when it %s", async (_why, text, message) => {
    const reading = (async () => read(Buffer.from(text)))();
    await expect(reading).rejects.toThrow(SyntaxError);
    await expect(reading).rejects.toThrow(message);
  });
});
