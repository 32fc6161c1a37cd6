// The server account runs PostgreSQL and owns its files. PostgreSQL refuses to run as root, so root becomes "nobody"
// for it. A user namespace does this where it works; otherwise the process really runs as nobody.
import { chown, lstat } from "node:fs/promises";
import { EmbeddedError } from "../process/embedded-error.ts";
import { type CommandResult, runCommand } from "../process/run-command.ts";

const NOBODY = 65_534;
const ROOT = 0;

export interface ServerAccount {
  /** Words before a command that run it as this account. */
  readonly prefix: readonly string[];
  /** For spawn. */
  readonly user: { readonly uid: number; readonly gid: number } | undefined;
  /** Owner of the files, as seen from outside; undefined if it is this process's user. */
  readonly owner: number | undefined;
}

const OURSELVES: ServerAccount = { prefix: [], user: undefined, owner: undefined };

/** "nobody" inside, root outside: files stay root's, so any folder works, /root too. */
export const IN_USER_NAMESPACE: ServerAccount = {
  prefix: ["unshare", "--user", `--map-user=${NOBODY}`, `--map-group=${NOBODY}`],
  user: undefined,
  owner: ROOT,
};

/** Account for containers that forbid namespaces. The folders above the data must be open for "nobody". */
export const AS_NOBODY: ServerAccount = { prefix: [], user: { uid: NOBODY, gid: NOBODY }, owner: NOBODY };

/** @throws EmbeddedError when `binary` runs under none. */
export async function chooseAccount(binary: string): Promise<ServerAccount> {
  if (process.getuid?.() !== ROOT) return OURSELVES;
  for (const account of [IN_USER_NAMESPACE, AS_NOBODY]) {
    const { code } = await runAs(account, [binary, "--version"]);
    if (code === 0) return account;
  }
  throw new EmbeddedError(
    "PostgreSQL refuses to run as root, and here nobody else can run it: start the router as a normal user, or set DATABASE_URL.",
  );
}

export function runAs(account: ServerAccount, command: readonly string[]): Promise<CommandResult> {
  const [program = "", ...args] = [...account.prefix, ...command];
  const env = { PATH: process.env["PATH"], TZ: "UTC", LC_ALL: "C" };
  return runCommand(program, args, { cwd: "/", env, ...account.user });
}

/** Changes the owner of one file or folder to the account. */
export async function assignOwner(path: string, { owner }: ServerAccount): Promise<void> {
  if (owner !== undefined) await chown(path, owner, owner);
}

/**
 * Changes the owner of a whole folder, if another account used the same data before.
 * @throws EmbeddedError if the account cannot reach it
 */
export async function assignOwnerOfAll(folder: string, account: ServerAccount): Promise<void> {
  if (account.owner === undefined) return;
  if ((await lstat(folder)).uid !== account.owner) {
    await runCommand("chown", ["-R", `${account.owner}:${account.owner}`, folder], {});
  }
  const { code } = await runAs(account, ["test", "-w", folder]);
  if (code === 0) return;
  throw new EmbeddedError(
    `PostgreSQL refuses to run as root, and the user nobody cannot reach ${folder}: set DATA_DIR to a folder outside root's home.`,
  );
}
