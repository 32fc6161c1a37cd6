// The two public routes. Their schemas are documentation: bodies are checked by our own code and sent on unchanged.
import { normalKey } from "@gr/identity";
import { quoteSchema, rulesOfPaidBodies } from "@gr/paid-request";
import { type RestApi, restRoute } from "@gr/runtime";
import { z } from "zod";
import { describedStream } from "./described-streams.ts";
import { CONTINUE_HEADER } from "./request/continued-request.ts";
import { CHAT_ROLES } from "./request/read-input.ts";
import { TextBound } from "./request/text-bound.ts";
import { TEXT_PATHS, type TextApi } from "./request/text-request.ts";
import { quoteText, serveText, type TextDeps } from "./serve-text.ts";

const CONTINUE_WORDS =
  "true: if the provider of a stream breaks off, another provider continues the stream where possible. An event with `continued` marks the place, " +
  "and the whole stream is charged. false: an interrupted stream ends with an error and is free";
const PAID_PATHS: ReadonlySet<string | undefined> = new Set(Object.values(TEXT_PATHS));
const BODY_LIMIT = 20 * 1024 * 1024;

const content = z.union([
  z.string(),
  z.array(z.unknown()).describe('parts, for example { type: "text", text } and parts with a picture'),
]);
const stream = z
  .boolean()
  .nullish()
  .meta({ default: false, description: "true: the answer is text/event-stream" });
const usage = (input: string, output: string) =>
  z.looseObject({
    [input]: z.int(),
    [output]: z.int(),
    total_tokens: z.int(),
    cost: z.number().describe("True cost at the provider, in USD"),
  });
const charge = z.number().describe("Charge to the account in USD: the true cost, rounded up to 1/10,000 USD");

const chatBody = z.looseObject({
  model: z.string().min(1),
  messages: z
    .array(
      z.looseObject({
        role: z.enum(CHAT_ROLES),
        content: content.nullable().optional().describe("Optional only in a message of the assistant"),
      }),
    )
    .min(1),
  stream,
});

const chatAnswer = z.looseObject({
  id: z.string(),
  object: z.string(),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.looseObject({
      index: z.int(),
      message: z.looseObject({ role: z.string(), content: z.string().nullable() }),
      finish_reason: z.string(),
    }),
  ),
  usage: usage("prompt_tokens", "completion_tokens"),
  cost: charge,
});

const responsesBody = z.looseObject({
  model: z.string().min(1),
  input: z.union([
    z.string(),
    z.array(
      z.union([
        z.looseObject({ type: z.literal("message").optional(), role: z.string().min(1), content }),
        z
          .looseObject({ type: z.string() })
          .describe("tool calls, their results, and other items that are no messages"),
      ]),
    ),
  ]),
  stream,
});

const responsesAnswer = z.looseObject({
  id: z.string(),
  object: z.string(),
  created_at: z.int(),
  model: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
  usage: usage("input_tokens", "output_tokens"),
  cost: charge,
});

const refusals = {
  400: { description: "A field is invalid, or the model does not support it; param names the field" },
  401: { description: "Missing, invalid or expired key" },
  402: {
    description:
      "Not enough credit, or the spend limit of the key, or of a budget above it, is reached, or such a budget is closed",
  },
  404: { description: "The model does not exist" },
  409: {
    description:
      "A request with the same Idempotency-Key is still running, or it was charged and its answer is not stored",
  },
  413: { description: "The body is larger than 20 MB" },
  415: { description: "The body is not application/json" },
  422: { description: "The Idempotency-Key was used for another request" },
  429: { description: "Rate limit" },
  502: { description: "The provider failed; nothing was charged" },
  503: { description: "The provider or billing is not available; nothing was charged" },
  504: { description: "The provider did not answer in time; nothing was charged" },
};

export function textRest(deps: TextDeps): RestApi {
  return {
    bodies: rulesOfPaidBodies({
      billing: deps.billing,
      spenderOf: ({ principal }) => normalKey(principal),
      mostBytes: deps.inputBytes,
      // A quote costs nothing, so its body needs no credit.
      meter: ({ routeOptions }, canPay) =>
        PAID_PATHS.has(routeOptions.url) ? new TextBound((id) => deps.catalog.find(id), canPay) : undefined,
    }),
    routes: [
      textRoute(deps, "chat", {
        summary:
          "Create a chat completion; with stream: true as server-sent chunks, the last with usage and cost",
        body: chatBody,
        answer: chatAnswer,
      }),
      textRoute(deps, "responses", {
        summary: "Create a response; with stream: true as server-sent events, the last with usage and cost",
        body: responsesBody,
        answer: responsesAnswer,
      }),
      quoteRoute(deps, "chat", chatBody),
      quoteRoute(deps, "responses", responsesBody),
    ],
  };
}

/** Accepts the same body as the request itself. */
function quoteRoute(deps: TextDeps, api: TextApi, body: z.ZodType) {
  const { 400: invalid, 401: unknown, 404: missing, 413: large, 503: unserved } = refusals;
  return restRoute({
    method: "POST",
    path: TEXT_PATHS[api].replace("/v1/compat/", "/v1/quote/"),
    access: normalKey,
    summary: "Highest possible cost of this request; the router reserves and sends nothing",
    body,
    bodyAs: "bytes",
    longStrings: "cut",
    bodyLimit: BODY_LIMIT,
    responses: {
      200: { description: "The bound", schema: quoteSchema },
      ...{ 400: invalid, 401: unknown, 404: missing, 413: large, 503: unserved },
    },
    handle: async ({ caller, http }) => quoteText(deps, api, caller, http),
  });
}

function textRoute(
  deps: TextDeps,
  api: TextApi,
  { summary, body, answer }: { summary: string; body: z.ZodType; answer: z.ZodType },
) {
  return restRoute({
    method: "POST",
    path: TEXT_PATHS[api],
    access: normalKey,
    summary,
    body,
    bodyAs: "bytes",
    longStrings: "cut",
    bodyLimit: BODY_LIMIT,
    ...(api === "chat" ? { headers: { [CONTINUE_HEADER]: CONTINUE_WORDS } } : {}),
    responses: {
      200: { description: "The answer", schema: answer, others: describedStream(api) },
      ...refusals,
    },
    handle: ({ caller, http, reply }) => serveText(deps, api, caller, http, reply),
  });
}
