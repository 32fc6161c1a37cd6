// Guarantees of the copied curl command: it repeats the request with all stored parameters, and an edit is a form.
import type { GenerationRecord } from "@gr/console-api";
import { expect, test } from "@jest/globals";
import { curlOf } from "./curl-of-request.ts";

const record = (kind: "image" | "video", request: object) =>
  ({
    kind,
    model: "sandbox/image",
    request: { n: 1, output_format: "webp", ...request },
  }) as GenerationRecord;

test("an image is JSON with its parameters, and a quote in the prompt ends no quote of the shell", () => {
  const image = record("image", { prompt: "Anna's kite", size: "1024x1024", quality: "high", n: 2 });
  expect(curlOf("https://r.example", image)).toBe(
    [
      "curl https://r.example/v1/compat/images/generations \\",
      '  -H "Authorization: Bearer $API_KEY" \\',
      '  -H "Content-Type: application/json" \\',
      `  -d '{"model":"sandbox/image","prompt":"Anna'\\''s kite","size":"1024x1024","quality":"high","n":2,"output_format":"webp"}'`,
    ].join("\n"),
  );
});

test("an edit is a form for the path of edits, with a file for each input picture", () => {
  const edit = record("image", { prompt: "@night", input_images: 2 });
  expect(curlOf("https://r.example", edit)).toBe(
    [
      "curl https://r.example/v1/compat/images/edits \\",
      '  -H "Authorization: Bearer $API_KEY" \\',
      "  --form-string 'model=sandbox/image' \\",
      "  --form-string 'prompt=@night' \\",
      "  --form-string 'n=1' \\",
      "  --form-string 'output_format=webp' \\",
      '  -F "image[]=@input-1.png" \\',
      '  -F "image[]=@input-2.png"',
    ].join("\n"),
  );
});

test("a video has its length and its sound, and no format", () => {
  const video = curlOf("", record("video", { prompt: "waves", seconds: 5, audio: true }));
  expect(video).toContain('"prompt":"waves","seconds":5,"audio":true}');
  expect(curlOf("", record("video", { input_images: 1 }))).toContain("/v1/compat/videos/generations");
});
