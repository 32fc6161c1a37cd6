// Customers who send a seeded mix of text, streams and images, some of them with Idempotency-Keys, and what must be true
// of their money when all of it has been answered, whatever died meanwhile.
import { type Credits, creditsOf } from "@gr/money";
import type { Random } from "@gr/testing/random";
import { expect } from "@jest/globals";
import { expectExactBooks, expectHonestAnswers } from "./books.ts";
import { mintKey, openAccount } from "./customers.ts";
import { chat, image, startLoad } from "./load.ts";
import type { Order, Sent } from "./send-order.ts";
import type { Upstream } from "./upstream.ts";

const CREDITS = creditsOf("10");
const REPEATS = 5;
const LEAST_CHARGES = 10;

export interface Customer {
  readonly accountId: string;
  readonly secrets: readonly string[];
  /** Gives every order an Idempotency-Key, and sends some twice. */
  readonly careful: boolean;
}

/** With two keys. @param traits `cap` of the second key, for its whole life */
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
 * Text whole and streamed, and images.
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

/** It was sent again before its answer had come, as this mix does. */
export const isOwnRepeat = ({ error }: Sent) => error?.code === "idempotency_in_progress";

/**
 * Once no hold is open. Orders with an Idempotency-Key whose outcome is unknown are sent again first; answers how often
 * that was.
 * @param earlier customers of loads before, whose bills are in the same books
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
    // Who repeats until there is an answer pays for that answer, and for nothing else.
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

/** Sends each order whose outcome its caller does not know again, as it was, until there is an answer. */
async function repeatUnknown(sent: readonly Sent[]): Promise<Sent[]> {
  const paid = new Set(sent.filter(({ conclusion }) => conclusion === "paid").map(keyOf));
  const unknown = sent.filter((one) => one.conclusion === "unknown" && !paid.has(keyOf(one)));
  let orders = [...new Map(unknown.map((one) => [keyOf(one), one.order])).values()];
  const repeated: Sent[] = [];
  // A slow machine may make a request too late, which is an honest refusal and is free.
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
