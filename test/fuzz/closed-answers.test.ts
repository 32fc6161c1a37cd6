// The fuzzer notices an answer with more members than the description.
import { expect, test } from "@jest/globals";
import { z } from "zod";
import { closed } from "./operations.ts";

const described = {
  type: "object",
  properties: {
    id: { type: "string" },
    properties: { type: "object", properties: { size: { type: "number" } } },
    tags: { type: "object", additionalProperties: { type: "string" } },
    list: { type: "array", items: { anyOf: [{ type: "object", properties: { at: { type: "string" } } }] } },
  },
};
const asDescribed = { id: "1", properties: { size: 1 }, tags: { any: "thing" }, list: [{ at: "now" }] };

test.each([
  ["as described", asDescribed, true],
  ["with a member more", { ...asDescribed, secret: 1 }, false],
  ["with one deep inside", { ...asDescribed, properties: { size: 1, unit: "px" } }, false],
  ["with one in a list", { ...asDescribed, list: [{ at: "now", by: "me" }] }, false],
])("an answer %s", (_how, answer, isGood) => {
  const check = z.fromJSONSchema(closed(described) as Parameters<typeof z.fromJSONSchema>[0]);
  expect(check.safeParse(answer).success).toBe(isGood);
});
