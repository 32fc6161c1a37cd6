// Guarantees of running balances: the sum of the entries up to a line, exact, also before a day in the past. A page between whose
// reads an entry came in is read again.
import { create } from "@bufbuild/protobuf";
import { type Entry, EntryKind, EntrySchema } from "@gr/proto/billing";
import { ManualClock } from "@gr/testing";
import { expect, test } from "@jest/globals";
import fc from "fast-check";
import { dayOf } from "../requests/days.ts";
import { ledgerCursor, linesOf, readLedgerCursor } from "./ledger-lines.ts";
import { type RunningBalanceDeps, readBalanced } from "./running-balance.ts";

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 27, 12);
const ACCOUNT = "a";
const payments = { ofBookings: async () => new Map<string, string>() };

/** Billing with these entries, oldest first. */
class Books {
  readonly entries: Entry[] = [];
  /** Runs after each read of the balance. */
  afterCredits: () => void = () => undefined;

  add(kind: EntryKind, credits: bigint, at: number): void {
    const entryId = BigInt(this.entries.length + 1);
    this.entries.push(create(EntrySchema, { entryId, kind, credits, at: BigInt(at) }));
  }

  get balance(): bigint {
    return this.entries.reduce((sum, { credits }) => sum + credits, 0n);
  }

  readonly deps = {
    clock: new ManualClock(NOW),
    billing: {
      getCredits: async () => {
        const remainingCredits = this.balance;
        this.afterCredits();
        return { remainingCredits };
      },
    },
    reports: {
      listEntries: async (filter: {
        kind?: EntryKind;
        from?: bigint;
        until?: bigint;
        limit?: number;
        after?: bigint;
      }) => {
        const { kind, from = 0n, until, limit = 100, after } = filter;
        const found = this.entries
          .filter((entry) => kind === undefined || entry.kind === kind)
          .filter(({ at }) => at >= from && (until === undefined || at < until))
          .filter(({ entryId }) => after === undefined || entryId < after)
          .toReversed();
        return { entries: found.slice(0, limit), hasMore: found.length > limit };
      },
      sumUsage: async ({ fromDay = "", toDay = "" }) => {
        const charged = this.entries.filter(({ kind, at }) => {
          const day = dayOf(Number(at));
          return kind === EntryKind.CHARGE && day >= fromDay && day <= toDay;
        });
        return { credits: charged.reduce((sum, { credits }) => sum - credits, 0n) };
      },
    },
  } as unknown as RunningBalanceDeps;

  async balances(filter: { from?: bigint; until?: bigint }, limit: number): Promise<(string | null)[]> {
    const { reports } = this.deps;
    const asked = { accountId: ACCOUNT, ...filter, limit };
    let { page, balance } = await readBalanced(this.deps, asked, () => reports.listEntries(asked));
    const all: (string | null)[] = [];
    for (;;) {
      const { lines, rest } = await linesOf(payments, ACCOUNT, page.entries, balance);
      all.push(...lines.map((line) => line.balance_after));
      if (!page.hasMore) return all;
      const cursor = readLedgerCursor(ledgerCursor(lines.at(-1)?.id ?? "", rest));
      page = await reports.listEntries({ ...asked, after: cursor?.after ?? 0n });
      balance = cursor?.balance;
    }
  }
}

const KINDS = [EntryKind.DEPOSIT, EntryKind.REFUND, EntryKind.ADJUSTMENT, EntryKind.CHARGE];
const history = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    credits: fc.bigInt(-5_000n, 5_000n),
    days: fc.integer({ min: 0, max: 40 }),
  }),
  { maxLength: 30 },
);

test("each line has the sum of all entries up to it, in pages of any size and up to any day", async () => {
  await fc.assert(
    fc.asyncProperty(
      history,
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 0, max: 45 }),
      async (drawn, limit, days) => {
        const books = new Books();
        for (const { kind, credits, days: ago } of drawn.toSorted((a, b) => b.days - a.days)) {
          const amount = kind === EntryKind.CHARGE && credits > 0n ? -credits : credits;
          books.add(kind, amount, NOW - ago * DAY_MS);
        }
        const until = BigInt(Date.parse(dayOf(NOW - days * DAY_MS)) + DAY_MS);
        for (const filter of [{}, { until }]) {
          const shown = books.entries.filter(({ at }) => !("until" in filter) || at < until);
          let sum = 0n;
          const expected = shown.map(({ credits }) => (sum += credits)).toReversed();
          const got = await books.balances(filter, limit);
          const exact = got.map((usd) =>
            BigInt((usd ?? "x").replace(".", "").replace(/^(-?)0+(?=\d)/, "$1")),
          );
          expect(exact).toEqual(expected);
        }
      },
    ),
    { seed: 20_261_127, numRuns: 300 },
  );
});

test("an entry between the reads causes another read; with one each time the balance is unknown", async () => {
  const books = new Books();
  books.add(EntryKind.DEPOSIT, 10_000n, NOW - 1);
  let more = 2;
  books.afterCredits = () => {
    if (more-- > 0) books.add(EntryKind.CHARGE, -100n, NOW);
  };
  expect(await books.balances({}, 10)).toEqual(["0.9800", "0.9900", "1.0000"]);
  more = 1_000;
  expect((await books.balances({}, 10))[0]).toBeNull();
});

test("beyond a year, and beyond a thousand bookings, the balance is unknown", async () => {
  const books = new Books();
  books.add(EntryKind.DEPOSIT, 10_000n, NOW - 500 * DAY_MS);
  const yearAgo = BigInt(NOW - 366 * DAY_MS);
  expect(await books.balances({ until: yearAgo }, 10)).toEqual([null]);
  for (let count = 0; count <= 1_000; count += 1) books.add(EntryKind.ADJUSTMENT, 1n, NOW - DAY_MS);
  expect((await books.balances({ until: BigInt(NOW - 2 * DAY_MS) }, 10))[0]).toBeNull();
});

test.each(["", "0", "5_", "5_1.5", "5_--1", "x_5", "5_1_1"])("%j is no cursor", (text) => {
  expect(readLedgerCursor(text)).toBeUndefined();
});
