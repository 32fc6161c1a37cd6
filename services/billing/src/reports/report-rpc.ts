// BillingReportService: messages to domain values and back.
import {
  BillingReportService,
  EntryKind as EntryKindMessage,
  type ListEntriesRequest,
  type SumCostsRequest,
  type SumUsageRequest,
  UsageGroup as UsageGroupMessage,
} from "@gr/proto/billing";
import { implement, LONGEST_PAGE, type RpcService } from "@gr/runtime";
import type { AccountStore } from "../accounts/accounts.ts";
import { instant, invalid, limit, text, uuid } from "../rpc/field-rules.ts";
import { type Names, nameOf } from "../rpc/message-names.ts";
import { usageMessage } from "../rpc/messages.ts";
import { reaching } from "../writer/ledger-error.ts";
import type {
  CostFilter,
  Entry,
  EntryFilter,
  EntryKind,
  ReportStore,
  UsageFilter,
  UsageGroup,
} from "./report.ts";

const MOST_DAYS = 366;
const MOST_SUMS = 5_000;
const MOST_COST_DAYS = 31;
const MOST_COST_ROWS = 20_000;
const MOST_PROVIDERS = 20;
const MOST_PROVIDER_CHARACTERS = 100;
const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d\d-\d\d$/;
const MOST_MODEL_CHARACTERS = 300;

const KINDS: Names<EntryKind, EntryKindMessage> = {
  deposit: EntryKindMessage.DEPOSIT,
  refund: EntryKindMessage.REFUND,
  adjustment: EntryKindMessage.ADJUSTMENT,
  charge: EntryKindMessage.CHARGE,
};
const GROUPS: Names<UsageGroup, UsageGroupMessage> = {
  day: UsageGroupMessage.DAY,
  spender: UsageGroupMessage.SPENDER,
  model: UsageGroupMessage.MODEL,
  provider: UsageGroupMessage.PROVIDER,
};

export interface ReportDeps {
  readonly reports: ReportStore;
  readonly accounts: Pick<AccountStore, "readCredits">;
}

export function billingReportRpc({ reports, accounts }: ReportDeps): RpcService {
  return implement(BillingReportService, {
    async listEntries(request) {
      const { entries, hasMore } = await reaching(reports.listEntries(readEntryFilter(request)));
      return { entries: entries.map(entryMessage), hasMore };
    },
    async sumUsage(request) {
      const { sums, ...rest } = await reaching(reports.sumUsage(readUsageFilter(request)));
      return { sums: [...sums], ...rest };
    },
    async readSpenders({ accountId, spenderIds }) {
      const id = uuid("account_id", accountId);
      if (spenderIds.length > LONGEST_PAGE) {
        throw invalid("spender_ids", `At most ${LONGEST_PAGE} spenders fit in one call`);
      }
      const only = spenderIds.map((spenderId, index) => uuid(`spender_ids[${index}]`, spenderId));
      const page = { limit: LONGEST_PAGE, after: undefined, only };
      const { usage } = await reaching(accounts.readCredits(id, page));
      const days = await reaching(
        reports.lastUsedDays(
          id,
          usage.map(({ definition }) => definition.id),
        ),
      );
      return {
        usage: usage.map((one) => ({ ...usageMessage(one), lastUsedDay: days.get(one.definition.id) ?? "" })),
      };
    },
    async sumCosts(request) {
      const sums = await reaching(reports.sumCosts(readCostFilter(request)));
      if (sums.length > MOST_COST_ROWS) {
        throw invalid("from_day", `These days have more than ${MOST_COST_ROWS} sums; ask for fewer days`);
      }
      return {
        sums: sums.map(({ cost, lost, charged, ...sum }) => ({
          ...sum,
          ...{ costPicoUsd: String(cost), lostPicoUsd: String(lost), chargedCredits: charged },
        })),
      };
    },
  });
}

function readEntryFilter({
  accountId,
  kind,
  from,
  until,
  limit: most,
  after,
}: ListEntriesRequest): EntryFilter {
  if (after < 0n) throw invalid("after", "It must be the id of an entry");
  return {
    accountId: uuid("account_id", accountId),
    kind: kind === EntryKindMessage.UNSPECIFIED ? undefined : nameOf(KINDS, "kind", kind),
    from: from === undefined ? undefined : new Date(Number(instant("from", from))),
    until: until === undefined ? undefined : new Date(Number(instant("until", until))),
    limit: limit("limit", most),
    after: after === 0n ? undefined : after,
  };
}

function readUsageFilter(request: SumUsageRequest): UsageFilter {
  const { accountId, group, perDay, fromDay, toDay, spenderId, model, limit: most } = request;
  checkDays(request, MOST_DAYS);
  if (most < 0 || most > MOST_SUMS)
    throw invalid("limit", `It must be from 1 to ${MOST_SUMS}, or 0 for 1000`);
  return {
    accountId: uuid("account_id", accountId),
    group: nameOf(GROUPS, "group", group),
    perDay,
    fromDay,
    toDay,
    spenderId: spenderId === "" ? undefined : uuid("spender_id", spenderId),
    model: model === "" ? undefined : text("model", model, MOST_MODEL_CHARACTERS),
    limit: most || LONGEST_PAGE,
  };
}

function readCostFilter(request: SumCostsRequest): CostFilter {
  const { fromDay, toDay, providers } = request;
  checkDays(request, MOST_COST_DAYS);
  if (providers.length === 0 || providers.length > MOST_PROVIDERS) {
    throw invalid("providers", `It must name 1 to ${MOST_PROVIDERS} providers`);
  }
  const names = providers.map((name, index) => text(`providers[${index}]`, name, MOST_PROVIDER_CHARACTERS));
  return { fromDay, toDay, providers: names, limit: MOST_COST_ROWS + 1 };
}

/** @throws ServiceError invalid_value unless both are days, in order, and at most `most` days are between them */
function checkDays({ fromDay, toDay }: { fromDay: string; toDay: string }, most: number): void {
  const days = (instantOfDay("to_day", toDay) - instantOfDay("from_day", fromDay)) / DAY_MS;
  if (days < 0) throw invalid("to_day", "It must not be before from_day");
  if (days >= most) throw invalid("from_day", `At most ${most} days are summed in one call`);
}

/** A day that the calendar does not have would be another one to PostgreSQL, or an error. */
function instantOfDay(field: string, value: string): number {
  const at = DAY.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at) || new Date(at).toISOString().slice(0, 10) !== value) {
    throw invalid(field, "It must be a day as YYYY-MM-DD");
  }
  return at;
}

function entryMessage(entry: Entry) {
  const { id, kind, at, credits, holdId, model, spenderId, source, reason, bookingId } = entry;
  return {
    entryId: id,
    kind: KINDS[kind],
    at: BigInt(at.getTime()),
    credits,
    holdId: holdId ?? "",
    model: model ?? "",
    spenderId: spenderId ?? "",
    source: source ?? "",
    reason: reason ?? "",
    bookingId: bookingId ?? "",
  };
}
