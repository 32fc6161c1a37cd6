// Guarantees of the record of a saved text: its JSON has the saved bytes of prompt and answer, without a reading of them.
import { create } from "@bufbuild/protobuf";
import { FindSavedTextResponseSchema } from "@gr/proto/saved-texts";
import { describe, expect, test } from "@jest/globals";
import { savedTextJson } from "./saved-texts.ts";

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text));

function jsonOf(texts: { prompt?: string; answer?: string }): string | undefined {
  const { prompt, answer } = texts;
  const text = {
    ...{ requestId: "id", beganAt: 86_400_000n, promptBytes: 3n, answerBytes: 4n },
    ...(prompt !== undefined && { prompt: bytesOf(prompt) }),
    ...(answer !== undefined && { answer: bytesOf(answer) }),
  };
  return savedTextJson(create(FindSavedTextResponseSchema, { text, days: 2 }))?.toString();
}

describe("the JSON of a saved text", () => {
  test("has prompt and answer byte for byte, however they are written", () => {
    const [prompt, answer] = ['{ "n": 1.0e2, "ü": "\\u0041" }', '\n["😀"]'];
    const json = jsonOf({ prompt, answer });
    expect(json).toContain(`"prompt":${prompt},`);
    expect(json).toContain(`"answer":${answer}}`);
    expect(JSON.parse(json ?? "")).toEqual({
      ...{ id: "id", object: "saved_text", prompt: { n: 100, ü: "A" }, answer: ["😀"] },
      ...{ created_at: "1970-01-02T00:00:00.000Z", expires_at: "1970-01-04T00:00:00.000Z" },
      ...{ prompt_bytes: 3, answer_bytes: 4 },
    });
  });

  test("has null for a text that was too long", () => {
    expect(JSON.parse(jsonOf({}) ?? "")).toMatchObject({ prompt: null, answer: null });
  });

  test("does not exist without an entry", () => {
    expect(savedTextJson(create(FindSavedTextResponseSchema))).toBeUndefined();
  });
});
