// Accepted requests of the media paths, and the errors for all others.
import { ServiceError } from "@gr/proto";
import { parseRequest } from "@gr/runtime";
import { describe, expect, test } from "@jest/globals";
import type { z } from "zod";
import { imageRequestSchema } from "./image-request.ts";
import { videoRequestSchema } from "./video-request.ts";

const parse = (body: unknown) => parseRequest(imageRequestSchema, body);

function refusalOf(body: unknown, schema: z.ZodType = imageRequestSchema): ServiceError {
  try {
    parseRequest(schema, body);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("an image request", () => {
  test("needs a model only; the rest has defaults", () => {
    expect(parse({ model: "m" })).toEqual({
      model: "m",
      quality: "auto",
      size: "auto",
      output_format: "webp",
      n: 1,
    });
  });

  test("ignores fields that it does not know, and takes null for absent", () => {
    const body = { model: "m", prompt: null, quality: null, size: null, n: null, user: "x", style: { a: 1 } };
    expect(parse(body)).toEqual({ ...parse({ model: "m" }), prompt: null });
  });

  test.each([
    [{}, "model"],
    [{ model: "" }, "model"],
    [{ model: 5 }, "model"],
    [{ model: "m", prompt: 5 }, "prompt"],
    [{ model: "m", prompt: "x".repeat(20_001) }, "prompt"],
    [{ model: "m", prompt: "x".repeat(5_000_000) }, "prompt"],
    [{ model: "m", quality: "ultra" }, "quality"],
    [{ model: "m", size: "big" }, "size"],
    [{ model: "m", size: "0x10" }, "size"],
    [{ model: "m", size: "1024X1024" }, "size"],
    [{ model: "m", size: 1024 }, "size"],
    [{ model: "m", response_format: "b64" }, "response_format"],
    [{ model: "m", output_format: "gif" }, "output_format"],
    [{ model: "m", n: 0 }, "n"],
    [{ model: "m", n: 11 }, "n"],
    [{ model: "m", n: 1.5 }, "n"],
    [{ model: "m", n: "2" }, "n"],
  ])("%j is refused with a message that names the field", (body, param) => {
    const refusal = refusalOf(body);
    expect(refusal).toMatchObject({ reason: "invalid_value", param });
    expect(refusal.message).toContain(param);
    expect(refusal.message.length).toBeLessThan(300);
  });

  test("a prompt is counted in characters, not in code units", () => {
    expect(parse({ model: "m", prompt: "\u{1f98a}".repeat(20_000) }).prompt).toHaveLength(40_000);
    expect(refusalOf({ model: "m", prompt: "\u{1f98a}".repeat(20_001) }).param).toBe("prompt");
  });

  test.each([["true"], [1]])("is streamed for a boolean only: %j", (stream) => {
    expect(refusalOf({ model: "m", stream })).toMatchObject({ reason: "invalid_value", param: "stream" });
    expect(parse({ model: "m", stream: true }).stream).toBe(true);
  });
});

describe("a video request", () => {
  const parseVideo = (body: unknown) => parseRequest(videoRequestSchema, body);

  test.each([[true], ["true"], [1]])("is not streamed: %j", (stream) => {
    const read = () => parseVideo({ model: "m", stream });
    expect(read).toThrow(expect.objectContaining({ reason: "invalid_value", param: "stream" }));
    expect(parseVideo({ model: "m", stream: false }).model).toBe("m");
  });

  test("has the fields of images, but for those that only images have", () => {
    const body = { model: "m", n: 3, output_format: "gif", mask: "x" };
    expect(parseVideo(body)).toEqual({
      model: "m",
      quality: "auto",
      size: "auto",
      seconds: "auto",
    });
  });

  test.each([[1], [60], [5.5], ["auto"]])("takes seconds of %j", (seconds) => {
    expect(parseVideo({ model: "m", seconds }).seconds).toBe(seconds);
  });

  test.each([
    [{ seconds: 0 }, "seconds"],
    [{ seconds: 0.5 }, "seconds"],
    [{ seconds: 61 }, "seconds"],
    [{ seconds: "5" }, "seconds"],
    [{ seconds: [5] }, "seconds"],
    [{ audio: "yes" }, "audio"],
    [{ audio: 1 }, "audio"],
    [{ prompt: 5 }, "prompt"],
  ])("%j is refused with a message that names the field", (fields, param) => {
    const refusal = refusalOf({ model: "m", ...fields }, videoRequestSchema);
    expect(refusal).toMatchObject({ reason: "invalid_value", param });
    expect(refusal.message).toContain(param);
  });
});
