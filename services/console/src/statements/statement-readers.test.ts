// Readers turn each provider's answers into exact rows of the asked days, page by page, and refuse answers that are no statement
// without showing the key.
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { consoleConfig } from "../config.ts";
import { statementsOf } from "./statement-config.ts";

const days = { from: "2026-01-12", to: "2026-01-13" };
const KEY = "key-that-nobody-sees";
const MONDAY_S = Date.parse("2026-01-12") / 1_000;

type Reply = { readonly status?: number; readonly body: string };
let asked: Pick<IncomingMessage, "url" | "headers">[];
let reply: (url: URL) => Reply;
const server = createServer((request, response) => {
  asked.push(request);
  const { status = 200, body } = reply(new URL(request.url ?? "", "http://provider"));
  response.writeHead(status, { "content-type": "application/json", location: "/elsewhere" }).end(body);
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`;
});
beforeEach(() => {
  asked = [];
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

function settings(more: object) {
  return consoleConfig.parse({
    DATABASE_URL: "postgres://localhost/x",
    CONSOLE_URL: "http://127.0.0.1:8080",
    CONSOLE_SECRET: "s".repeat(32),
    ...more,
  });
}

function read(kind: string) {
  const STATEMENTS = JSON.stringify([{ name: "mine", kind, base_url: `${url}/` }]);
  const [statement] = statementsOf(settings({ STATEMENTS, STATEMENT_KEYS: JSON.stringify({ mine: KEY }) }));
  if (statement?.reader === undefined) throw new Error("there is no reader");
  return statement.reader.read(days);
}

const json = (value: unknown): Reply => ({ body: JSON.stringify(value) });
const paths = () => asked.map((request) => request.url);

test("OpenRouter's activity is read day by day; endpoints of one model are rows of it", async () => {
  const row = { model_permaslug: "x", provider_name: "P", requests: 1, byok_usage_inference: 9 };
  reply = ({ searchParams }) => {
    const date = searchParams.get("date");
    const more = [{ ...row, date: "2026-01-01", model: "v/old", usage: 5 }];
    return json({
      data: [
        { ...row, date, model: "v/m", usage: 0.015 },
        { ...row, date: `${date} 00:00:00`, model: "v/m", usage: 1e-7 },
        ...more,
      ],
    });
  };
  expect(await read("openrouter")).toEqual(
    [days.from, days.to].flatMap((day) => [
      { day, model: "v/m", amount: 15_000_000_000n },
      { day, model: "v/m", amount: 100_000n },
    ]),
  );
  expect(paths()).toEqual(["/api/activity?date=2026-01-12", "/api/activity?date=2026-01-13"]);
  expect(asked[0]?.headers.authorization).toBe(`Bearer ${KEY}`);
});

test("OpenAI's costs are read over all pages; line items of one model are rows of it", async () => {
  const cost = (value: number | string, line_item: string | null) => ({
    amount: { value, currency: "usd" },
    line_item,
  });
  reply = ({ searchParams }) =>
    searchParams.get("page") === null
      ? json({
          data: [
            {
              start_time: MONDAY_S,
              results: [cost(0.06, "gpt-4o-2024-08-06, input"), cost("0.000000000001", "gpt-4o, output")],
            },
          ],
          has_more: true,
          next_page: "page_2",
        })
      : json({
          data: [
            { start_time: MONDAY_S + 86_400, results: [cost(-1, null)] },
            { start_time: MONDAY_S + 2 * 86_400, results: [cost(7, "gpt-4o")] },
          ],
          has_more: false,
          next_page: null,
        });
  expect(await read("openai")).toEqual([
    { day: "2026-01-12", model: "gpt-4o-2024-08-06", amount: 60_000_000_000n },
    { day: "2026-01-12", model: "gpt-4o", amount: 1n },
    { day: "2026-01-13", model: "(no line item)", amount: -1_000_000_000_000n },
  ]);
  const query = `start_time=${MONDAY_S}&end_time=${MONDAY_S + 2 * 86_400}&bucket_width=1d&group_by=line_item&limit=31`;
  expect(paths()).toEqual([
    `/api/organization/costs?${query}`,
    `/api/organization/costs?${query}&page=page_2`,
  ]);
});

test("Vercel's report is read day by day", async () => {
  reply = () => json({ results: [{ model: "v/m", total_cost: 0.5, request_count: 2 }] });
  expect(await read("vercel")).toEqual(
    [days.from, days.to].map((day) => ({ day, model: "v/m", amount: 500_000_000_000n })),
  );
  expect(paths()[0]).toBe("/api/report?start_date=2026-01-12&end_date=2026-01-12&group_by=model");
});

test("fal's usage is read over all pages, after discounts", async () => {
  const bucket = (day: string, result: object) => [
    { bucket: `${day}T00:00:00Z`, results: [{ endpoint_id: "fal-ai/m", ...result }] },
  ];
  reply = ({ searchParams }) =>
    searchParams.get("cursor") === null
      ? json({
          time_series: bucket(days.from, { cost: 2, cost_total: 1.5 }),
          has_more: true,
          next_cursor: "Mg==",
        })
      : json({ time_series: bucket(days.to, { cost: 0.4 }), has_more: false, next_cursor: null });
  expect(await read("fal")).toEqual([
    { day: days.from, model: "fal-ai/m", amount: 1_500_000_000_000n },
    { day: days.to, model: "fal-ai/m", amount: 400_000_000_000n },
  ]);
  expect(asked[0]?.headers.authorization).toBe(`Key ${KEY}`);
  expect(paths()[0]).toBe("/api/models/usage?start=2026-01-12&end=2026-01-14&timeframe=day&timezone=UTC");
});

describe.each(["openrouter", "openai", "vercel", "fal"])("an answer to the reader of %s", (kind) => {
  test.each<[string, Reply, string]>([
    ["a wrong key", { status: 401, body: KEY }, "STATEMENT_KEYS"],
    ["a failure", { status: 503, body: KEY }, "answered 503"],
    ["a redirect", { status: 302, body: KEY }, "was not reached"],
    ["no JSON", { body: `<${KEY}>` }, "is not JSON"],
    ["a field twice", { body: '{"data":[],"data":[]}' }, "a field twice"],
    ["another shape", { body: '{"error":"x"}' }, "is no statement: field"],
  ])("that is %s is no statement", async (_name, answer, problem) => {
    reply = () => answer;
    const failure = await read(kind).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(failure?.name).toBe("Error");
    expect(failure?.message).toContain(problem);
    expect(failure?.message).not.toContain(KEY);
  });
});

test("a cost in another currency is refused", async () => {
  const amount = { value: 1, currency: "eur" };
  reply = () =>
    json({ data: [{ start_time: MONDAY_S, results: [{ amount, line_item: "m" }] }], has_more: false });
  await expect(read("openai")).rejects.toThrow("the row of m is not in USD");
});

test.each([
  [{ STATEMENTS: '[{"name":"a"},{"name":"a"}]' }, "two statements of the name a"],
  [{ STATEMENTS: '[{"name":"a"}]', STATEMENT_KEYS: '{"b":"k"}' }, "names b, which is not in STATEMENTS"],
  [{ STATEMENTS: '[{"name":"a"}]', STATEMENT_KEYS: '{"a":"k"}' }, "needs a kind for a"],
  [{ STATEMENTS: "[" }, "must be JSON"],
  [{ STATEMENTS: '[{"name":"a","kind":"b"}]' }, "a.kind"],
  [{ STATEMENT_TOLERANCE_USD: "-1" }, "at least 0"],
  [{ STATEMENT_TOLERANCE_PERCENT: "101" }, "STATEMENT_TOLERANCE_PERCENT"],
])("the settings %j are refused in one sentence", (more, problem) => {
  expect(() => statementsOf(settings(more))).toThrow(problem);
});
