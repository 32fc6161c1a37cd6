// Half of Stripe's settings is no setting: the operator hears of it before anybody pays.
import { systemClock } from "@gr/runtime";
import { expect, test } from "@jest/globals";
import { consoleConfig } from "../config.ts";
import { createStripe } from "./stripe.ts";

const config = (settings: object) =>
  consoleConfig.parse({
    DATABASE_URL: "postgres://localhost/x",
    CONSOLE_URL: "http://127.0.0.1:8080",
    CONSOLE_SECRET: "s".repeat(32),
    ...settings,
  });
const [STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET] = ["sk_test_x", "whsec_x"];

test.each([{ STRIPE_SECRET_KEY }, { STRIPE_WEBHOOK_SECRET }])(
  "%j alone is refused in one sentence",
  (half) => {
    expect(() => createStripe(config(half), systemClock)).toThrow("set both, or neither");
  },
);

test("without any there are no payments, with both there are", () => {
  expect(createStripe(config({}), systemClock)).toBeUndefined();
  expect(createStripe(config({ STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET }), systemClock)).toBeDefined();
});
