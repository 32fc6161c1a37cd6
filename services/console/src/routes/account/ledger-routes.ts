// Ledger routes list the changes of a balance with the balance after each, in pages and as CSV. With a filter by kind the lines
// between are absent, so lines have no balance then.
import { Readable } from "node:stream";
import type { Credits } from "@gr/money";
import { csvLine } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type Handlers } from "../../door/console-call.ts";
import { LEDGER_KINDS, ledgerCursor, linesOf, readLedgerCursor } from "../../ledger/ledger-lines.ts";
import { readBalanced } from "../../ledger/running-balance.ts";
import { DAY_MS, startOfDay } from "../../requests/days.ts";
import { invalidAfter, pageLimit } from "../../requests/pages.ts";
import { sendCsv } from "./csv.ts";

const EXPORT_PAGE = 1_000;
const EXPORT_LINES = 100_000;
const COLUMNS = [
  ...["id", "time", "kind", "amount_usd", "request_id", "model", "key_id", "source", "reason"],
  ...["payment_id", "balance_after_usd"],
];

export function ledgerRoutes(deps: ConsoleDeps): Handlers<"readLedger" | "exportLedger"> {
  const { payments } = deps;
  return {
    readLedger: async (call) => {
      const accountId = accountOf(call);
      const filter = entryFilter(accountId, call.query);
      const { after } = call.query;
      const cursor = after === undefined ? undefined : readLedgerCursor(after);
      if (after !== undefined && cursor === undefined) throw invalidAfter();
      const { page, balance } = await readPage(deps, { ...filter, limit: pageLimit(call.query) }, cursor);
      const { lines, rest } = await linesOf(payments, accountId, page.entries, balance);
      const last = lines.at(-1)?.id;
      return {
        data: [...lines],
        next: page.hasMore && last !== undefined ? ledgerCursor(last, rest) : null,
      };
    },
    exportLedger: async (call) => {
      // Read before the answer begins, so that a bad filter is an error and not a broken file.
      const filter = entryFilter(accountOf(call), call.query);
      return sendCsv(call.reply, "ledger.csv", Readable.from(ledgerCsv(deps, filter)));
    },
  };
}

interface LedgerFilter {
  readonly kind?: keyof typeof LEDGER_KINDS | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** @throws ServiceError invalid_value */
function entryFilter(accountId: string, { kind, from, to }: LedgerFilter) {
  return {
    accountId,
    ...(kind === undefined ? {} : { kind: LEDGER_KINDS[kind] }),
    ...(from === undefined ? {} : { from: BigInt(startOfDay("from", from)) }),
    ...(to === undefined ? {} : { until: BigInt(startOfDay("to", to) + DAY_MS) }),
  };
}

type EntryFilter = ReturnType<typeof entryFilter>;

/** @param cursor end of the page before; undefined = the newest page */
async function readPage(
  deps: ConsoleDeps,
  filter: EntryFilter & { readonly limit: number },
  cursor: { readonly after: bigint; readonly balance: Credits | undefined } | undefined,
) {
  const { reports } = deps;
  if (cursor !== undefined) {
    const page = await reports.listEntries({ ...filter, after: cursor.after });
    return { page, balance: cursor.balance };
  }
  if (filter.kind !== undefined) return { page: await reports.listEntries(filter), balance: undefined };
  return await readBalanced(deps, filter, () => reports.listEntries(filter));
}

async function* ledgerCsv(deps: ConsoleDeps, filter: EntryFilter): AsyncGenerator<string> {
  yield csvLine(COLUMNS);
  let cursor: { after: bigint; balance: Credits | undefined } | undefined;
  for (let count = 0; count < EXPORT_LINES; count += EXPORT_PAGE) {
    const { page, balance } = await readPage(deps, { ...filter, limit: EXPORT_PAGE }, cursor);
    const { lines, rest } = await linesOf(deps.payments, filter.accountId, page.entries, balance);
    yield lines
      .map((line) =>
        csvLine([
          ...[line.id, line.at, line.kind, line.amount, line.request_id, line.model, line.key_id],
          ...[line.source, line.reason, line.payment_id, line.balance_after],
        ]),
      )
      .join("");
    if (!page.hasMore) return;
    cursor = { after: page.entries.at(-1)?.entryId ?? 0n, balance: rest };
  }
}
