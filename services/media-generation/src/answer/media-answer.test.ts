// Answers with files in them: their pieces form the same JSON as a whole answer, and their
// length is declared at the start.
import { expect, test } from "@jest/globals";
import { mediaAnswer } from "./media-answer.ts";

const order = (format: string) =>
  ({ createdAt: 5_000, request: { response_format: format } }) as unknown as Parameters<
    typeof mediaAnswer
  >[0];
const finished = { charge: 1_234n, finishedAt: 7_500, outputs: ["a.webp", "b.webp"] };

test("URLs are a plain object", () => {
  const answer = mediaAnswer(order("url"), finished, [], "https://r.example/");
  const data = ["a", "b"].map((name) => ({ url: `https://r.example/media/${name}.webp` }));
  expect(answer).toEqual({ created: 7, data, latency: 2_500, cost: 0.1234 });
});

test.each(["b64_json", "b64_ephemeral"])(
  "%s is the same JSON however its files come in pieces",
  async (format) => {
    for (const sizes of [[], [0], [1], [2, 3], [4, 1, 500_000]]) {
      for (const pieceBytes of [1_000, 100_001]) {
        const files = sizes.map((size) => Buffer.alloc(size, "moving pictures"));
        const answer = mediaAnswer(
          order(format),
          finished,
          files.map((bytes) => ({ size: bytes.length, read: () => cut(bytes, pieceBytes) })),
          "https://r.example",
        );
        if (!("pieces" in answer)) throw new Error("it is no text");
        let text = "";
        for await (const piece of answer.pieces()) text += piece;
        const data = files.map((bytes) => ({ b64_json: bytes.toString("base64") }));
        expect(JSON.parse(text)).toEqual({ created: 7, data, latency: 2_500, cost: 0.1234 });
        expect(text).toBe(JSON.stringify(JSON.parse(text)));
        expect(answer.length).toBe(Buffer.byteLength(text));
      }
    }
  },
);

function* cut(bytes: Buffer, pieceBytes: number): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
}
