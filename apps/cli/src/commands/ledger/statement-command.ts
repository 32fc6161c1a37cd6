// Statement command: account statement writes a sealed month into a file. Its owner checks the file with scripts/ledger/check-statement.mjs.
import { createWriteStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StatementService } from "@gr/proto/billing";
import { OperatorError } from "@gr/runtime";
import type { Command } from "commander";
import type { Runs } from "../../command.ts";
import { report } from "../../output/report.ts";
import type { Router } from "../../router/router.ts";

interface StatementOptions {
  readonly account: string;
  readonly month: string;
  readonly out: string;
}

export function addStatementCommand(account: Command, runs: Runs): void {
  account
    .command("statement")
    .description(
      "write the steps of a sealed month into a file, which scripts/ledger/check-statement.mjs checks",
    )
    .requiredOption("--account <id>", "id of the account")
    .requiredOption("--month <month>", "month in UTC, for example 2026-10")
    .requiredOption("--out <file>", "file to write; an existing file is an error")
    .action(
      runs(async (router, options: StatementOptions) => {
        const found = { steps: 0, hash: "", isSigned: false };
        const lines = Readable.from(linesOf(router, options, found));
        await pipeline(lines, createWriteStream(options.out, { flags: "wx" })).catch((error: unknown) => {
          const { code } = error as NodeJS.ErrnoException;
          if (code === "EEXIST") throw new OperatorError(`${options.out} exists; name another file.`);
          if (code === "ENOENT") throw new OperatorError(`The folder of ${options.out} does not exist.`);
          throw error;
        });
        const { steps, hash, isSigned } = found;
        const signed = isSigned ? "signed" : "not signed: billing has no STATEMENT_KEY_FILE";
        const data = { account_id: options.account, month: options.month, steps, hash, is_signed: isSigned };
        return report(data, `Wrote ${steps} steps to ${options.out}. The statement is ${signed}.`);
      }),
    );
}

/** Lines of the file: the seal with its signature, then each step. */
async function* linesOf(
  router: Router,
  { account: accountId, month }: StatementOptions,
  found: { steps: number; hash: string; isSigned: boolean },
): AsyncGenerator<string> {
  const statements = router.dial("billing", StatementService);
  for (let after = 0n, isFirst = true, more = true; more; isFirst = false) {
    const page = await statements.readStatement({ accountId, month, after });
    const { seal, hash, signature, publicKey } = page;
    if (isFirst) {
      const signing = signature === "" ? null : { signature, public_key: publicKey };
      yield `${JSON.stringify({ seal: JSON.parse(seal), hash, signing })}\n`;
      Object.assign(found, { hash, isSigned: signature !== "" });
    }
    for (const line of page.lines) yield `${line}\n`;
    found.steps += page.lines.length;
    const last: unknown = JSON.parse(page.lines.at(-1) ?? "[]");
    after = BigInt(Array.isArray(last) ? String(last[0] ?? 0) : 0);
    more = page.hasMore && page.lines.length > 0;
  }
}
