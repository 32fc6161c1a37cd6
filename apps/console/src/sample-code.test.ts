// Guarantee of sample code: it has the form's values, files and headers, in each language's own syntax.
import { expect, test } from "@jest/globals";
import { type SampleOptions, sampleCode } from "./sample-code.ts";

const code = (type: "text" | "image" | "video", body: Record<string, unknown>, options?: SampleOptions) =>
  Object.fromEntries(
    sampleCode("https://router.example", type, body, options).map(({ name, code }) => [name, code]),
  );

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

test("an edit is a form with its pictures and mask, at the path of edits", () => {
  const files = [
    { field: "image[]", name: "my cup.png" },
    { field: "mask", name: "mask.png" },
  ];
  const { curl, Node, Python } = code("image", { model: "m", prompt: "@night", n: 2 }, { files });
  expect(curl).toContain("https://router.example/v1/compat/images/edits");
  expect(curl).toContain("--form-string 'prompt=@night'");
  expect(curl).toContain(`-F 'image[]=@"my cup.png"'`);
  expect(curl).toContain(`-F 'mask=@"mask.png"'`);
  expect(curl).not.toContain("application/json");
  expect(Node).toContain("client.images.edit({");
  expect(Node).toContain('mask: await toFile(await openAsBlob("mask.png"), "mask.png")');
  expect(Python).toContain('image=[open("my cup.png", "rb")],\n    mask=open("mask.png", "rb")');
});

test("an asynchronous request has its header in each language", () => {
  const { curl, Node, Python } = code("video", { model: "m", prompt: "waves" }, { isAsync: true });
  expect(curl).toContain('-H "Prefer: respond-async"');
  expect(Node).toContain('headers: {"Prefer":"respond-async"}');
  expect(Python).toContain('options={"headers": {"Prefer": "respond-async"}}');
});

test("a secret stands where the variable of the environment is read", () => {
  const { curl, Node, Python } = code("text", { model: "m" }, { secret: "gr_live_x" });
  expect(curl).toContain('"Authorization: Bearer gr_live_x"');
  expect(Node).toContain('apiKey: "gr_live_x"');
  expect(Python).toContain('api_key="gr_live_x"');
  expect(`${curl}${Node}${Python}`).not.toMatch(/API_KEY|node:process|import os/);
  expect(code("text", { model: "m" })["curl"]).toContain('"Authorization: Bearer $API_KEY"');
});

test("a streamed text is read as a stream", () => {
  const { curl, Node, Python } = code("text", { model: "m", stream: true });
  expect(curl).toContain("curl -N ");
  expect(Node).toContain("for await (const chunk of stream)");
  expect(Python).toContain("for chunk in stream:");
});
