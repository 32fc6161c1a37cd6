// A refusal for want of money names the parts of the sum, and the field that the client sent.

import { create } from "@bufbuild/protobuf";
import { ServiceError } from "@gr/proto";
import { TokenPriceSchema } from "@gr/proto/catalog";
import { expect, test } from "@jest/globals";
import { holdSizeOf } from "./hold-size.ts";
import { withAdvice } from "./refused-for-money.ts";
import { readTextRequest } from "./text-request.ts";

const price = create(TokenPriceSchema, { inputPicoUsd: 1_000_000n, outputPicoUsd: 10_000_000n });
const model = {
  contextTokens: 400_000n,
  maxOutputTokens: 128_000n,
  capabilities: [],
  supportedParameters: [],
};
const refused = new ServiceError("insufficient_credits", "The account has 0.0001 USD left.", {
  retryAfterMs: 5,
});

function adviceFor(fields: object): string {
  const body = { model: "m", messages: [{ role: "user", content: "hi" }], ...fields };
  const request = readTextRequest("chat", Buffer.from(JSON.stringify(body)));
  const error = withAdvice(refused, { request, size: holdSizeOf(request, model, price) });
  expect(error).toMatchObject({ reason: "insufficient_credits", retryAfterMs: 5 });
  return (error as ServiceError).message.replace("The account has 0.0001 USD left. ", "");
}

test.each([
  [
    { max_tokens: 3_000 },
    /^The request reserves 0\.030\d USD: 0\.000\d USD for at most \d+ tokens of input and 0\.0300 USD for output\. A smaller "max_tokens" reserves less for output\.$/,
  ],
  [{ max_completion_tokens: 3_000 }, / A smaller "max_completion_tokens" reserves/],
  [
    { max_completion_tokens: 3_000, stream: true },
    / 0\.005\d USD for output\. A "max_completion_tokens" below 512 reserves less for output\.$/,
  ],
  [{}, / A "max_tokens" below 512 reserves less/],
  [
    { max_tokens: 50, tools: [{ type: "web_search" }] },
    /: 0\.400\d USD for at most 400000 tokens of input, 0\.2000 USD for tools that the provider runs and 0\.000\d USD for output\. A request without these tools reserves less\.$/,
  ],
])("a request with %j", (fields, advice) => expect(adviceFor(fields)).toMatch(advice));

test("an error that is not about money, and one of a free model, stay as they are", () => {
  const request = readTextRequest(
    "chat",
    Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}'),
  );
  const other = new ServiceError("model_not_found", "no");
  expect(withAdvice(other, { request, size: holdSizeOf(request, model, price) })).toBe(other);
  const free = holdSizeOf(request, model, create(TokenPriceSchema, {}));
  expect(withAdvice(refused, { request, size: free })).toBe(refused);
});
