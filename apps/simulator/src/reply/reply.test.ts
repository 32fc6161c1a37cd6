// The text models' answers, and their length.
import { describe, expect, test } from "@jest/globals";
import fc from "fast-check";
import { readChatRequest } from "../text/text-request.ts";
import { splitTokens } from "../text/tokens.ts";
import type { Picture } from "./picture-facts.ts";
import { composeReply } from "./reply.ts";
import { stepsOf } from "./reply-steps.ts";

function replyTo(content: unknown, more: Record<string, unknown> = {}, pictures: readonly Picture[] = []) {
  const messages = [{ role: "user", content }];
  const reply = composeReply(
    readChatRequest({ model: "sandbox/chat-vision", messages, ...more }, "openrouter"),
    pictures,
  );
  const [choice] = reply.choices;
  return { tokens: choice?.parts.flatMap(({ tokens }) => tokens) ?? [], finish: choice?.finish, reply };
}

describe("a reply", () => {
  test("quotes the message and has 20 to 60 tokens, whatever was said", () => {
    expect(replyTo("Is the sea blue?").tokens.join("")).toContain("“Is the sea blue?”");
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 400 }), (message) => {
        const { tokens, finish } = replyTo(message.replaceAll("#tokens=", ""));
        expect(finish).toBe("stop");
        expect(tokens.length).toBeGreaterThanOrEqual(20);
        expect(tokens.length).toBeLessThanOrEqual(60);
      }),
    );
  });

  test("has exactly the tokens that the message asks for, at most 16000", () => {
    expect(replyTo("hi #tokens=500").tokens).toHaveLength(500);
    expect(replyTo("hi #tokens=1").tokens).toHaveLength(1);
    expect(replyTo("hi #tokens=999999").tokens).toHaveLength(16_000);
    expect(replyTo("hi #tokens=500").finish).toBe("stop");
  });

  test("has the text or the call of a directive, in any place of the message", () => {
    expect(replyTo('Do it. #answer="a\\n\\"b\\" {" and more').tokens.join("")).toBe('a\n"b" {');
    const tool = (name: string) => ({
      type: "function",
      function: { name, parameters: { type: "object", properties: { path: { type: "string" } } } },
    });
    const tools = [tool("read"), tool("write")];
    const call = '<x>#call={"name": "write", "arguments": {"path": "read \\"a}\\""}}</x> #answer="done"';
    const parts = (more: object) => replyTo(call, { tools, ...more }).reply.choices[0]?.parts ?? [];
    expect(parts({})).toMatchObject([{ kind: "call", name: "write" }]);
    expect(parts({})[0]?.tokens.join("")).toBe('{"path":"read \\"a}\\""}');
    expect(parts({ tools: [tool("read")] })[0]?.tokens.join("")).toBe("done");
    expect(replyTo("#answer=none").tokens.join("")).toContain("“#answer=none”");
    expect(replyTo('#answer="open').tokens.join("")).toContain("“#answer=");
  });

  test("is cut at the caller's limit and says so", () => {
    expect(replyTo("hi", { max_tokens: 5 })).toMatchObject({ finish: "length" });
    expect(replyTo("hi", { max_tokens: 5 }).tokens).toHaveLength(5);
    expect(replyTo("hi", { max_tokens: 900, max_completion_tokens: 7 }).tokens).toHaveLength(7);
    expect(replyTo("hi #tokens=50", { max_tokens: 50 }).finish).toBe("stop");
  });

  test("says what it sees in the images it was sent", () => {
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const look = { width: 64, height: 48, format: "png", color: "orange" };
    const { tokens } = replyTo([{ type: "text", text: "look" }, image, image], {}, [
      { look },
      { look: undefined },
    ]);
    expect(tokens.join("")).toContain(
      "2 images: 64 × 48 pixels, PNG, mostly orange; one at an address that I did not open.",
    );
  });

  test("has its limit for each choice, and its steps are all of its tokens, in turn", () => {
    const { reply } = replyTo("hi", { n: 3, max_tokens: 4 });
    const steps = [...stepsOf(reply)];
    expect(steps.map(({ choice }) => choice)).toEqual([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]);
    expect(reply.tokens).toBe(steps.length);
    expect(steps.filter(({ isFirst }) => isFirst)).toHaveLength(3);
    expect(steps.filter(({ isLast }) => isLast)).toHaveLength(3);
  });
});

describe("input tokens", () => {
  test("are a quarter of the UTF-8 bytes of all text, 4 per message and 85 per image", () => {
    const request = readChatRequest(
      {
        model: "sandbox/chat-vision",
        messages: [
          { role: "system", content: "abcde" },
          {
            role: "user",
            content: [
              { type: "text", text: "é" },
              { type: "image_url", image_url: { url: "https://example.com/a.png" } },
            ],
          },
          { role: "assistant", content: null },
        ],
      },
      "openrouter",
    );
    expect(request.inputTokens).toBe(Math.ceil((5 + 2) / 4) + 3 * 4 + 85);
  });
});

describe("tokens", () => {
  test("joined are the text again", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        expect(splitTokens(text).join("")).toBe(text);
      }),
    );
  });
});
