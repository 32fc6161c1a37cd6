// Every request field and tool of the pinned OpenAI SDK has a row in the table of price-relevant fields. A new version
// with another field does not compile here until a developer has found out its effect on the price.
import {
  type CLIENT_TOOL_TYPES,
  type FEE_TOOL_TYPES,
  FIELD_ROWS,
  type SHAPING_FIELDS,
  type SPECIAL_FIELDS,
  type TOKEN_FIELDS,
  UPSTREAM_KINDS,
} from "@gr/text-upstream";
import { expect, test } from "@jest/globals";
import type { ChatCompletionCreateParamsBase } from "openai/resources/chat/completions/completions";
import type { ResponseCreateParamsBase, Tool } from "openai/resources/responses/responses";

type Rows = (typeof SHAPING_FIELDS | typeof TOKEN_FIELDS | typeof SPECIAL_FIELDS)[number];
type Tools = (typeof CLIENT_TOOL_TYPES | typeof FEE_TOOL_TYPES)[number];
/** The names without a row; the error of the compiler shows them. */
type Missing<Names, Known> = Exclude<Names, Known>;

const missing: {
  readonly chat: Missing<keyof ChatCompletionCreateParamsBase, Rows>[];
  readonly responses: Missing<keyof ResponseCreateParamsBase, Rows>[];
  readonly tools: Missing<Tool["type"], Tools>[];
} = { chat: [] as never[], responses: [] as never[], tools: [] as never[] };
/** Fails to compile when a name is missing. */
const none: { readonly chat: never[]; readonly responses: never[]; readonly tools: never[] } = missing;

test("no field of the pinned SDK is without a row", () => {
  expect(none).toEqual({ chat: [], responses: [], tools: [] });
});

test("every row says what it does, where that is known from, and when that was read", () => {
  for (const { field, source, asOf, kinds = [] } of FIELD_ROWS) {
    expect([field, source.length > 3, /^\d{4}-\d\d-\d\d$/.test(asOf)]).toEqual([field, true, true]);
    expect(kinds.filter((kind) => !(kind in UPSTREAM_KINDS))).toEqual([]);
  }
});
