// Guarantees of Stripe's settings and signatures: half of the settings is an error at the start. A signature is valid
// near its date only.
import { createHmac } from "node:crypto";
import { systemClock } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
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
    expect(() => createStripe(config(half), systemClock)).toThrow("or neither");
  },
);

test("without any there are no payments, with both there are", () => {
  expect(createStripe(config({}), systemClock)).toBeUndefined();
  expect(createStripe(config({ STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET }), systemClock)).toBeDefined();
});

test.each([
  [-301, false],
  [-300, true],
  [0, true],
  [300, true],
  [301, false],
  [6_000, false],
])("a signature dated %d s from now is accepted: %s", (offset, isAccepted) => {
  const clock = new ManualClock(1_800_000_000_000);
  const stripe = createStripe(config({ STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET }), clock);
  const body = Buffer.from(
    JSON.stringify({ id: "evt_1", object: "event", type: "ping", data: { object: {} } }),
  );
  const seconds = clock.now() / 1_000 + offset;
  const signature = createHmac("sha256", STRIPE_WEBHOOK_SECRET).update(`${seconds}.${body}`).digest("hex");
  const read = () => stripe?.readEvent(body, `t=${seconds},v1=${signature}`);
  if (isAccepted) expect(read()).toMatchObject({ id: "evt_1" });
  else expect(read).toThrow("dated too far from now");
});
