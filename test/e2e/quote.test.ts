// A quote is the charge, or not less. A request that may cost more than its client's limit reaches no upstream.
import { creditsOf } from "@gr/money";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { call, remainingCredits, simulatorBill } from "./http.ts";
import { type Router, startRouter, topologiesByDepth } from "./topology.ts";

const chat = { model: "sandbox/chat", messages: [{ role: "user", content: "hi" }], max_tokens: 16 };
const requests = [
  [
    "images/generations",
    { model: "sandbox/image", prompt: "a kite", n: 2, response_format: "b64_ephemeral" },
  ],
  ["videos/generations", { model: "sandbox/video", prompt: "a kite", response_format: "b64_ephemeral" }],
  ["chat/completions", chat],
  ["responses", { model: "sandbox/chat", input: "hi", max_output_tokens: 16 }],
] as const;

describe.each(topologiesByDepth)("quotes (%s)", (topology) => {
  let router: Router;
  beforeAll(async () => {
    router = await startRouter(topology, { inProcess: true });
  });
  afterAll(() => router?.dispose());

  const usd = (amount: number) => creditsOf(String(amount));
  const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    call(router, "POST", `/v1/compat/${path}`, { body, headers });

  test.each(requests)(
    "%s: the charge is what was quoted, or less where it is a bound",
    async (path, body) => {
      const before = [await remainingCredits(router), (await simulatorBill(router)).total];
      const quoted = await call(router, "POST", `/v1/quote/${path}`, { body });
      expect([quoted.status, quoted.body]).toMatchObject([200, { object: "quote", model: body.model }]);
      expect([await remainingCredits(router), (await simulatorBill(router)).total]).toEqual(before);
      const { status, body: served } = await ask(path, body, { "x-max-cost": String(quoted.body.cost) });
      expect(status).toBe(200);
      if (quoted.body.is_exact) expect(served.cost).toBe(quoted.body.cost);
      else expect(usd(served.cost)).toBeLessThanOrEqual(usd(quoted.body.cost));
      expect(quoted.body.is_exact).toBe(path.includes("generations"));
    },
  );

  test.each(requests)(
    "%s: one unit less than the bound is refused, and nobody is asked",
    async (path, body) => {
      const { cost } = (await call(router, "POST", `/v1/quote/${path}`, { body })).body;
      const before = [await remainingCredits(router), (await simulatorBill(router)).total];
      const less = Number(usd(cost) - 1n) / 10_000;
      const refused = await ask(path, body, { "x-max-cost": less.toFixed(4) });
      expect([refused.status, refused.body.error]).toMatchObject([
        400,
        { code: "max_cost_exceeded", param: "x-max-cost", type: "invalid_request_error" },
      ]);
      expect([await remainingCredits(router), (await simulatorBill(router)).total]).toEqual(before);
    },
  );

  test.each(["", "-1", "1e3", "NaN", "1,5", "1.", "$1"])("x-max-cost: %p is no amount", async (value) => {
    const refused = await ask("chat/completions", chat, { "x-max-cost": value });
    expect([refused.status, refused.body.error]).toMatchObject([
      400,
      { code: "invalid_value", param: "x-max-cost" },
    ]);
  });

  test("a quote is refused as its request would be", async () => {
    for (const [path, body, status] of [
      ["chat/completions", { ...chat, model: "nobody/nothing" }, 404],
      ["chat/completions", { model: "sandbox/chat" }, 400],
      ["images/generations", { model: "sandbox/image", prompt: "a", size: "1x1" }, 400],
      ["images/generations", { model: "sandbox/chat", prompt: "a" }, 400],
    ] as const) {
      expect((await call(router, "POST", `/v1/quote/${path}`, { body })).status).toBe(status);
    }
    expect((await call(router, "POST", "/v1/quote/chat/completions", { body: chat, key: null })).status).toBe(
      401,
    );
  });

  test("what was paid for is given again under its Idempotency-Key, whatever is allowed now", async () => {
    const headers = { "idempotency-key": "quote-1" };
    const paid = await ask("chat/completions", chat, headers);
    const again = await ask("chat/completions", chat, { ...headers, "x-max-cost": "0" });
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(again.body).toEqual(paid.body);
  });
});
