// Ledger commands: ledger verify has exit code 1 if a total of the ledger differs from its steps, or a seal from its facts.
import { formatCredits, formatPicoUsd } from "@gr/money";
import type { VerifyLedgerResponse } from "@gr/proto/billing";
import type { Command } from "commander";
import type { Runs } from "../../command.ts";
import { report } from "../../output/report.ts";
import { table } from "../../output/table.ts";

const VERIFY_TIMEOUT_MS = 10 * 60_000;
/** Long, because the command reads the whole ledger. */
const VERIFY_ALL_TIMEOUT_MS = 12 * 3_600_000;

export function addLedgerCommands(program: Command, runs: Runs): void {
  const ledger = program.command("ledger").description("the books");
  ledger
    .command("verify")
    .description("prove the steps since the latest seals, and the seals; exit code 1 on a difference")
    .option("--all", "prove all steps, and the seals from their steps; needs longer with each month")
    .action(
      runs(async (router, { all = false }: { all?: boolean }) => {
        const timeoutMs = all ? VERIFY_ALL_TIMEOUT_MS : VERIFY_TIMEOUT_MS;
        const answer = await router.billing().verifyLedger({ all }, { timeoutMs });
        const facts = factsOf(answer);
        const { differences } = facts;
        const books = `accounts ${facts.accounts}, holds ${facts.holds} (open ${facts.open_holds}), charged ${facts.charged} USD for ${facts.charged_cost} USD of cost, lost ${facts.lost_cost} USD.`;
        if (differences.length === 0) return report(facts, `The ledger is right: ${books}`);
        const text = `The ledger is wrong (differences: ${differences.length}): ${books}\n\n${table(
          differences,
          [
            { title: "INVARIANT", cell: ({ invariant }) => invariant },
            { title: "SUBJECT", cell: ({ subject }) => subject },
            { title: "EXPECTED", cell: ({ expected }) => expected, isRightAligned: true },
            { title: "ACTUAL", cell: ({ actual }) => actual, isRightAligned: true },
          ],
          "",
        )}`;
        return report(facts, text, false);
      }),
    );
}

function factsOf(answer: VerifyLedgerResponse) {
  return {
    differences: answer.differences.map(({ invariant, subject, expected, actual }) => ({
      invariant,
      subject,
      expected,
      actual,
    })),
    accounts: Number(answer.accounts),
    holds: Number(answer.holds),
    open_holds: Number(answer.openHolds),
    charged: formatCredits(answer.chargedCredits),
    charged_cost: formatPicoUsd(BigInt(answer.chargedCostPicoUsd)),
    lost_cost: formatPicoUsd(BigInt(answer.lostCostPicoUsd)),
  };
}
