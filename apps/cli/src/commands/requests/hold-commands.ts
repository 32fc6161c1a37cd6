// hold list
import { formatCredits, formatPicoUsd } from "@gr/money";
import { type Hold, HoldState } from "@gr/proto/billing";
import type { Command } from "commander";
import type { Runs } from "../../command.ts";
import { countOf, isoText } from "../../option-values.ts";
import { report } from "../../output/report.ts";
import { type Column, table } from "../../output/table.ts";

const STATES: Readonly<Record<HoldState, string>> = {
  [HoldState.UNSPECIFIED]: "unknown",
  [HoldState.OPEN]: "open",
  [HoldState.CAPTURED]: "captured",
  [HoldState.RELEASED]: "released",
};

interface HoldOptions {
  account?: string;
  open?: boolean;
  limit: number;
  after?: string;
}

export function addHoldCommands(program: Command, runs: Runs): void {
  const hold = program.command("hold").description("credit that requests have reserved");
  hold
    .command("list")
    .description("list holds of an account, or open ones, oldest first; others by account")
    .option("--account <id>", "of this account only")
    .option("--open", "those that are not resolved yet")
    .option("--limit <count>", "at most so many, up to 1000", countOf, 100)
    .option("--after <id>", "continue after this hold, the last of the page before")
    .action(
      runs(async (router, { account = "", open = false, limit, after = "" }: HoldOptions) => {
        const state = open ? HoldState.OPEN : HoldState.UNSPECIFIED;
        const request = { accountId: account, state, limit, after };
        const { holds, hasMore } = await router.billing().listHolds(request);
        const records = holds.map(recordOf);
        const text = table(records, COLUMNS, "No hold matches.");
        const more = hasMore ? `\nThere are more: --after ${records.at(-1)?.id}\n` : "";
        return report({ holds: records, has_more: hasMore }, `${text}${more}`);
      }),
    );
}

type HoldRecord = ReturnType<typeof recordOf>;

function recordOf(hold: Hold) {
  return {
    id: hold.holdId,
    account_id: hold.accountId,
    api_key_id: hold.spenderId,
    state: STATES[hold.state] ?? "unknown",
    credits: formatCredits(hold.credits),
    charged: formatCredits(hold.chargedCredits),
    cost: formatPicoUsd(hold.costPicoUsd),
    service: hold.service,
    provider: hold.provider,
    attempt: hold.attempt,
    model: hold.model,
    upstream_model: hold.upstreamModel,
    price_version: hold.priceVersion,
    placed_at: isoText(hold.placedAt),
    deadline_at: isoText(hold.deadlineAt),
  };
}

const COLUMNS: readonly Column<HoldRecord>[] = [
  { title: "ID", cell: ({ id }) => id },
  { title: "STATE", cell: ({ state }) => state },
  { title: "CREDITS USD", cell: ({ credits }) => credits, isRightAligned: true },
  { title: "CHARGED USD", cell: ({ charged }) => charged, isRightAligned: true },
  { title: "COST USD", cell: ({ cost }) => cost, isRightAligned: true },
  { title: "PROVIDER", cell: ({ provider }) => provider },
  { title: "ATTEMPT", cell: ({ attempt }) => String(attempt), isRightAligned: true },
  { title: "MODEL", cell: ({ model }) => model },
  { title: "PLACED", cell: ({ placed_at }) => placed_at ?? "-" },
  { title: "DEADLINE", cell: ({ deadline_at }) => deadline_at ?? "-" },
];
