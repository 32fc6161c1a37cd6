// What operators see: readiness, and a counter for every event with money that somebody should look at.
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { type BillingUnderTest, startBilling } from "./test/start-billing.ts";
import { abandon, capture, nextAttempt, openWallet, place, post, postOne, release } from "./test/wallet.ts";

describe("the process", () => {
  let ledger: BillingUnderTest;
  beforeAll(async () => {
    ledger = await startBilling();
  });
  afterAll(() => ledger.stop());

  const value = async (name: string) => {
    const line = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, "m").exec(await ledger.metrics());
    return Number(line?.[1]);
  };

  test("is ready, unless a newer version has taken away what this one uses", async () => {
    expect(await ledger.readyz()).toMatchObject({ status: 200 });
    const later = "('9999-contract.sql', 'x', '9998-unknown.sql')";
    await ledger.db.query(`INSERT INTO schema_migration (name, checksum, contract) VALUES ${later}`);
    ledger.clock.advance(15_000);
    expect(await ledger.readyz()).toMatchObject({
      status: 503,
      body: {
        problems: [expect.stringMatching(/^billing: The tables cannot be used \(A newer version has/)],
      },
    });
    await ledger.db.query("DELETE FROM schema_migration WHERE name = '9999-contract.sql'");
    ledger.clock.advance(15_000);
    expect(await ledger.readyz()).toMatchObject({ status: 200 });
  });

  test("counts losses and holds that were given up, each once however often they are reported", async () => {
    const mine = await openWallet(ledger.billing, 1_000n);
    const holds = Array.from({ length: 6 }, () => place(mine, 1n));
    await post(ledger.billing, ...holds);
    const [free, failed, given, givenBilled, late, captured] = holds.map(({ holdId }) => holdId);
    const operations = [
      release(free ?? ""),
      release(failed ?? "", 5n),
      nextAttempt(given ?? "", 2, 5n),
      abandon(given ?? ""),
      abandon(givenBilled ?? "", 5n),
      release(late ?? ""),
      capture(captured ?? "", 1n),
      capture(late ?? "", 1n, 9n),
    ];
    for (let round = 0; round < 2; round += 1)
      for (const one of operations) await postOne(ledger.billing, one);
    await post(ledger.billing, ...operations);
    expect(await value("billing_failed_costs_total")).toBe(2);
    expect(await value("billing_holds_unresolved_total")).toBe(2);
    expect(await value("billing_late_costs_total")).toBe(2);
  });

  test("counts commits by their size", async () => {
    const mine = await openWallet(ledger.billing, 1_000n);
    const [count, sum] = [
      await value("billing_batch_operations_count"),
      await value("billing_batch_operations_sum"),
    ];
    await post(ledger.billing, ...Array.from({ length: 7 }, () => place(mine, 1n)));
    expect(await value("billing_batch_operations_count")).toBe(count + 1);
    expect(await value("billing_batch_operations_sum")).toBe(sum + 7);
  });

  test("counts what a verification finds, and says when one found nothing", async () => {
    const rightAt = "billing_ledger_verified_timestamp_seconds";
    expect(await value("billing_ledger_differences_total")).toBe(0);
    await ledger.db.query("UPDATE step SET debited = debited + 1 WHERE kind = 1");
    const { length } = (await ledger.billing.verifyLedger({})).differences;
    expect(length).toBeGreaterThan(0);
    expect(await value("billing_ledger_differences_total")).toBe(length);
    expect(await value(rightAt)).toBe(0);
    await ledger.db.query("UPDATE step SET debited = debited - 1 WHERE kind = 1");
    expect((await ledger.billing.verifyLedger({})).differences).toEqual([]);
    expect(await value("billing_ledger_differences_total")).toBe(length);
    expect(await value(rightAt)).toBeGreaterThan(0);
  });
});
