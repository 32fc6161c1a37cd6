// The command `credits show` prints the balance of an account, and its usage by API key.
import { periodNameOf } from "@gr/clients";
import { formatCredits } from "@gr/money";
import type { SpenderUsage } from "@gr/proto/billing";
import type { Command } from "commander";
import type { Runs } from "../command.ts";
import { isoText, usdText } from "../option-values.ts";
import { report } from "../output/report.ts";
import { type Column, table } from "../output/table.ts";

export function addCreditsCommands(program: Command, runs: Runs): void {
  const credits = program.command("credits").description("show the credits of an account and their use");
  credits
    .command("show")
    .description("show an account's credit and its usage by key")
    .requiredOption("--account <id>", "id of the account")
    .action(
      runs(async (router, { account }: { account: string }) => {
        const answer = await router.billing().getCredits({ accountId: account, bySpender: true });
        const { depositedCredits, remainingCredits, heldCredits, usage, hasMore } = answer;
        const totals = {
          account_id: account,
          total_deposits: formatCredits(depositedCredits),
          credit_usage: formatCredits(depositedCredits - remainingCredits),
          remaining_credits: formatCredits(remainingCredits),
          held_credits: formatCredits(heldCredits),
        };
        const keys = usage.map(usageOf);
        for (let more = hasMore; more; ) {
          const request = { accountId: account, bySpender: true, after: keys.at(-1)?.api_key_id ?? "" };
          const page = await router.billing().getCredits(request);
          keys.push(...page.usage.map(usageOf));
          more = page.hasMore;
        }
        const lines = [
          ["deposited", totals.total_deposits],
          ["used", totals.credit_usage],
          ["remaining", totals.remaining_credits],
          ["of which held", totals.held_credits],
        ] as const;
        const sums = table(lines, SUM_COLUMNS, "");
        const text = `${sums}\n\n${table(keys, COLUMNS, "No key of this account can spend.")}`;
        return report({ ...totals, usage_by_api_key: keys }, text);
      }),
    );
}

type UsageRecord = ReturnType<typeof usageOf>;

function usageOf({ spender, usedCredits, requests, windowUsedCredits }: SpenderUsage) {
  return {
    api_key_id: spender?.spenderId ?? "",
    api_key_name: spender?.name ?? "",
    is_active: spender?.active ?? false,
    credit_usage: formatCredits(usedCredits),
    total_requests: Number(requests),
    spend_limit: usdText(spender?.capCredits),
    spend_limit_period: (spender && periodNameOf(spender.period)) ?? null,
    period_spend: formatCredits(windowUsedCredits),
    expires_at: isoText(spender?.expiresAt),
  };
}

const SUM_COLUMNS: readonly Column<readonly [string, string]>[] = [
  { title: "CREDIT", cell: ([name]) => name },
  { title: "USD", cell: ([, amount]) => amount, isRightAligned: true },
];

const COLUMNS: readonly Column<UsageRecord>[] = [
  { title: "KEY", cell: ({ api_key_id }) => api_key_id },
  { title: "NAME", cell: ({ api_key_name }) => api_key_name },
  { title: "ACTIVE", cell: ({ is_active }) => (is_active ? "yes" : "no") },
  { title: "USED USD", cell: ({ credit_usage }) => credit_usage, isRightAligned: true },
  { title: "REQUESTS", cell: ({ total_requests }) => String(total_requests), isRightAligned: true },
  { title: "LIMIT USD", cell: ({ spend_limit }) => spend_limit ?? "-", isRightAligned: true },
  { title: "PER", cell: ({ spend_limit_period }) => spend_limit_period ?? "-" },
  { title: "IN PERIOD", cell: ({ period_spend }) => period_spend, isRightAligned: true },
  { title: "EXPIRES", cell: ({ expires_at }) => expires_at ?? "never" },
];
