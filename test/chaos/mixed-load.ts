// Customers with a seeded mix of text, streams and images, some of them with Idempotency-Keys. The checks of
// their money apply after the last answer, also if processes died meanwhile.
import { type Credits, creditsOf } from "@gr/money";
import type { Random } from "@gr/testing/random";
import { expect } from "@jest/globals";
import { expectExactBooks, expectHonestAnswers } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, image, startLoad } from "./load.ts";
import type { Order, Sent } from "./send-order.ts";
import type { Upstream } from "./upstream.ts";

/** Settings of a router that soon gives up on lost parts, and soon resolves the holds of a dead process. */
export const SHORT_WAITS = {
  TEXT_TOTAL_TIMEOUT_MS: "60000",
  HOLD_LEASE_MS: "4000",
  TEXT_HEADERS_TIMEOUT_MS: "4000",
  MEDIA_TIMEOUT_MS: "4000",
  MEDIA_LEASE_MS: "2000",
  HOLD_GRACE_MS: "5000",
  RESOLVE_INTERVAL_MS: "500",
};

const CREDITS = creditsOf("10");
const REPEATS = 5;
const LEAST_CHARGES = 10;

export interface Customer {
  readonly accountId: string;
  readonly secrets: readonly string[];
  /** Sends every order with an Idempotency-Key, and some twice. */
  readonly careful: boolean;
}

/** Opens a customer with two keys. @param traits `cap` of the second key, for its whole life */
export async function openCustomer(
  dataDir: string,
  traits: { careful: boolean; cap?: Credits },
): Promise<Customer> {
  const accountId = await openAccount(dataDir, CREDITS);
  const limits = traits.cap === undefined ? {} : { cap: traits.cap };
  const keys = [await mintKey(dataDir, accountId), await mintKey(dataDir, accountId, limits)];
  return { accountId, secrets: keys.map(({ secret }) => secret), careful: traits.careful };
}

/**
 * Returns a mix of whole and streamed text, and images.
 * @param repeats false: no order is sent twice while its first answer may still be on its way
 */
export function mixOf(
  random: Random,
  baseUrl: string,
  customers: readonly Customer[],
  { repeats = true } = {},
): (index: number) => Order {
  let last: Order | undefined;
  return (index) => {
    if (repeats && last !== undefined && random.chance(0.05)) return last;
    const kind = random.next();
    const what = kind < 0.08 ? image(`image ${index}`) : chat(20 + random.below(60), kind < 0.5);
    const { secrets, careful } = random.pick(customers);
    const order = { ...what, baseUrl, secret: random.pick(secrets) };
    if (!careful) return order;
    last = { ...order, idempotencyKey: `order ${index}` };
    return last;
  };
}

/** Whether this mix sent it again before its answer had arrived. */
export const isOwnRepeat = ({ error }: Sent) => error?.code === "idempotency_in_progress";

/**
 * Checks the money once no hold is open. First repeats the orders with an Idempotency-Key and an unknown outcome.
 * @param earlier customers of loads before, with bills in the same books
 * @returns the number of repeats
 */
export async function expectExactMoney(
  dataDir: string,
  upstream: Pick<Upstream, "bill">,
  customers: readonly Customer[],
  load: readonly Sent[],
  earlier: readonly Customer[] = [],
): Promise<number> {
  const repeated = await repeatUnknown(load.filter(({ order }) => order.idempotencyKey !== undefined));
  const sent = [...load, ...repeated];
  for (const { accountId, secrets, careful } of customers) {
    const answers = sent.filter(({ order }) => secrets.includes(order.secret));
    const charges = await expectHonestAnswers(dataDir, accountId, answers);
    expect(charges).toBeGreaterThan(LEAST_CHARGES);
    // A client that repeats until there is an answer pays for that answer only.
    const answered = answers.filter(({ conclusion }) => conclusion === "paid");
    if (careful) expect(charges).toBe(new Set(answered.map(keyOf)).size);
  }
  await expectExactBooks(
    dataDir,
    upstream,
    [...earlier, ...customers].map(({ accountId }) => accountId),
  );
  return repeated.length;
}

/** Repeats each order with an unknown outcome, unchanged, until there is an answer. */
async function repeatUnknown(sent: readonly Sent[]): Promise<Sent[]> {
  const paid = new Set(sent.filter(({ conclusion }) => conclusion === "paid").map(keyOf));
  const unknown = sent.filter((one) => one.conclusion === "unknown" && !paid.has(keyOf(one)));
  let orders = [...new Map(unknown.map((one) => [keyOf(one), one.order])).values()];
  const repeated: Sent[] = [];
  // A slow machine may refuse a late request, which is correct and free.
  for (let round = 0; round < REPEATS && orders.length > 0; round += 1) {
    const asked = orders;
    const answers = await startLoad((index) => asked[index] as Order, {
      perSecond: 200,
      most: asked.length,
      together: 8,
    }).all();
    repeated.push(...answers);
    orders = answers.filter(({ conclusion }) => conclusion !== "paid").map(({ order }) => order);
  }
  const keys = new Set(orders.map(({ idempotencyKey }) => idempotencyKey));
  expect([...sent, ...repeated].filter((one) => keys.has(keyOf(one)))).toEqual([]);
  return repeated;
}

const keyOf = ({ order }: Sent) => order.idempotencyKey;
