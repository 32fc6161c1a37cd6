// runCli runs one command: arguments in, text or JSON out, and exit code 0 only after full success.
// Every failure is one sentence on stderr; with --json, an object that contains it. Exit code 2: the command line is
// unusable, and nothing was sent.
import { errorRow, ServiceError } from "@gr/proto";
import { buildSentence, type Environment, OperatorError } from "@gr/runtime";
import { Command, CommanderError } from "commander";
import type { Runs, RunsAlone } from "./command.ts";
import { addAccountCommands } from "./commands/account-commands.ts";
import { addAdjustmentCommands, addDepositCommands } from "./commands/booking-commands.ts";
import { addBudgetCommands } from "./commands/budget-commands.ts";
import { addCatalogCommands } from "./commands/catalog-commands.ts";
import { addConsoleCommands } from "./commands/console-commands.ts";
import { addCreditsCommands } from "./commands/credits-command.ts";
import { addDoctorCommand } from "./commands/doctor-command.ts";
import { addKeyCommands, addTokenCommands } from "./commands/key-commands.ts";
import { addLedgerCommands } from "./commands/ledger/ledger-commands.ts";
import { addReconcileCommand } from "./commands/reconcile-command.ts";
import { addHoldCommands } from "./commands/requests/hold-commands.ts";
import { addRequestCommands } from "./commands/requests/request-commands.ts";
import { addRetentionCommands } from "./commands/retention-commands.ts";
import { addRouteCommands } from "./commands/route-commands.ts";
import { addWebhookCommands } from "./commands/webhook-commands.ts";
import { sentenceOfFailure } from "./output/failure.ts";
import { printable } from "./output/printable.ts";
import { reachRouter } from "./router/router.ts";
import { findRouter, type RouterAddress } from "./router/router-address.ts";

/** Exit code of a command line that cannot be understood. */
const UNUSABLE = 2;

export interface CliIo {
  readonly env: Environment;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
}

/** @returns the exit code. */
export async function runCli(args: readonly string[], io: CliIo): Promise<number> {
  let exitCode = 0;
  let address: RouterAddress | undefined;
  const asJson = args.includes("--json");
  const program = new Command("cli")
    .version(buildSentence(), "--version", "print the version")
    .usage("<noun> <verb> [options]")
    .description("Operates a running Generation Router.")
    .option("--json", "print JSON instead of text")
    .option("--data-dir <folder>", "data directory of the router (default: DATA_DIR, else ./.data)")
    .exitOverride()
    .configureOutput({ writeOut: io.stdout, writeErr: (text) => asJson || io.stderr(text) })
    .showHelpAfterError("(--help lists all commands)");
  const runsAlone: RunsAlone =
    (work) =>
    async (...args) => {
      const { text, data, ok } = await work(...args);
      io.stdout(program.opts<{ json?: boolean }>().json ? `${JSON.stringify(data, null, 2)}\n` : `${text}\n`);
      exitCode = ok ? 0 : 1;
    };
  const runs: Runs = (work) =>
    runsAlone(async (...args) => {
      address = await findRouter(program.opts<{ dataDir?: string }>().dataDir, io.env);
      return work(reachRouter(address), ...args);
    });
  addAccountCommands(program, runs);
  addKeyCommands(program, runs);
  addBudgetCommands(program, runs);
  addTokenCommands(program, runs);
  addDepositCommands(program, runs);
  addAdjustmentCommands(program, runs);
  addCreditsCommands(program, runs);
  addHoldCommands(program, runs);
  addRequestCommands(program, runs);
  addLedgerCommands(program, runs);
  addReconcileCommand(program, runs);
  addCatalogCommands(program, runs, runsAlone);
  addConsoleCommands(program, runs);
  addRetentionCommands(program, runs);
  addRouteCommands(program, runs);
  addWebhookCommands(program, runs);
  addDoctorCommand(program, runs);
  try {
    // Commander's own help knows the first word of a command only.
    const words = args[0] === "help" ? [...args.slice(1), "--help"] : args;
    await program.parseAsync(words, { from: "user" });
    return exitCode;
  } catch (error) {
    // In text, commander has written its own sentence already.
    if (error instanceof CommanderError && error.exitCode === 0) return 0;
    if (error instanceof CommanderError && !asJson) return UNUSABLE;
    const message = printable(messageOf(error, address));
    const code = error instanceof ServiceError ? errorRow(error.reason).code : null;
    io.stderr(asJson ? `${JSON.stringify({ error: { message, code } })}\n` : `${message}\n`);
    return error instanceof CommanderError ? UNUSABLE : 1;
  }
}

function messageOf(error: unknown, address: RouterAddress | undefined): string {
  if (error instanceof OperatorError) return error.message;
  if (!(error instanceof CommanderError)) return sentenceOfFailure(error, address);
  if (error.code === "commander.help") return "Name a command; --help lists all commands.";
  return error.message.replace(/^error: /, "");
}
