// The cluster is the files of one PostgreSQL: `cluster/` (its data) and `password` in a folder of ours.
// It is created beside its place and renamed, so an existing cluster is complete, even if an earlier attempt was
// killed.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EmbeddedError } from "../process/embedded-error.ts";
import { assignOwner, assignOwnerOfAll, runAs, type ServerAccount } from "./server-account.ts";

export interface Cluster {
  readonly folder: string;
  readonly password: string;
}

/** Opens the cluster in `dataDir`, or creates one. The caller must hold the lock of `dataDir`. */
export async function openCluster(
  dataDir: string,
  initdb: string,
  account: ServerAccount,
  durable: boolean,
): Promise<Cluster> {
  const folder = join(dataDir, "cluster");
  await chmod(dataDir, 0o700);
  await assignOwner(dataDir, account);
  const password = await openPassword(dataDir, folder, account);
  if (!existsSync(folder)) await initialise(dataDir, folder, initdb, account, durable);
  await assignOwnerOfAll(folder, account);
  return { folder, password };
}

async function openPassword(dataDir: string, folder: string, account: ServerAccount): Promise<string> {
  const file = join(dataDir, "password");
  if (existsSync(file)) return (await readFile(file, "utf8")).trim();
  if (existsSync(folder)) {
    throw new EmbeddedError(
      `The password of the database in ${folder} is missing: put ${file} back, or remove ${folder} to begin anew.`,
    );
  }
  const password = randomBytes(24).toString("base64url");
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  await assignOwner(file, account);
  return password;
}

async function initialise(
  dataDir: string,
  folder: string,
  initdb: string,
  account: ServerAccount,
  durable: boolean,
): Promise<void> {
  const draft = `${folder}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  await assignOwnerOfAll(draft, account);
  const { code, output } = await runAs(account, [
    ...[initdb, "-D", draft, "--username=postgres", "--auth=scram-sha-256", "--no-instructions"],
    `--pwfile=${join(dataDir, "password")}`,
    ...["--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"],
    // Each client of a password with the usual iterations needs a millisecond of a processor to sign in.
    ...(durable ? [] : ["--no-sync", "--wal-segsize=4", "-c", "scram_iterations=1"]),
  ]);
  if (code !== 0) throw new EmbeddedError(`A database cannot be created in ${dataDir}: ${reasonIn(output)}`);
  await rename(draft, folder);
  if (durable) await syncFolder(dataDir);
}

/** The rename itself must survive a power cut. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Returns the line of PostgreSQL's output that states the reason of a failure. */
export function reasonIn(output: string): string {
  const lines = output.trim().split("\n");
  const line = lines.findLast((text) => /FATAL|PANIC|error:/.test(text)) ?? lines.at(-1) ?? "";
  return line.replace(/^.*?(FATAL|PANIC|error): */, "").trim() || "without a reason";
}
