// As whom PostgreSQL runs: it refuses to run as root, so root becomes "nobody" for it; and it must not outlive us,
// also when we are killed with SIGKILL.
import { chownSync, existsSync } from "node:fs";
import { runCommand } from "./run-command.ts";

const NOBODY = "65534";

export interface PostgresIdentity {
  /** Turns a server command into one that runs as the right user and ends (SIGINT) when we do. */
  wrap(command: string, args: readonly string[]): [string, string[]];
  /** Makes a path belong to that user. */
  own(path: string): void;
}

const asOurselves: PostgresIdentity = {
  wrap: (command, args) =>
    hasSetpriv() ? ["setpriv", ["--pdeathsig", "INT", command, ...args]] : [command, [...args]],
  own: () => undefined,
};

/** Root in a user namespace where root is "nobody": files stay root's, so any folder works. */
const inUserNamespace: PostgresIdentity = {
  wrap: (command, args) => [
    "unshare",
    [
      "--user",
      `--map-user=${NOBODY}`,
      `--map-group=${NOBODY}`,
      "setpriv",
      "--pdeathsig",
      "INT",
      command,
      ...args,
    ],
  ],
  own: () => undefined,
};

/** Really "nobody": works without namespaces, where "nobody" may reach the folder. */
const asNobody: PostgresIdentity = {
  wrap: (command, args) => [
    "setpriv",
    [`--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--pdeathsig", "INT", command, ...args],
  ],
  own: (path) => chownSync(path, Number(NOBODY), Number(NOBODY)),
};

/** The identity under which `binary` can run here; undefined when there is none. */
export async function choosePostgresIdentity(binary: string): Promise<PostgresIdentity | undefined> {
  if (process.getuid?.() !== 0) return asOurselves;
  for (const identity of [inUserNamespace, asNobody]) {
    const { code } = await runCommand(...identity.wrap(binary, ["--version"]), { cwd: "/" });
    if (code === 0) return identity;
  }
  return undefined;
}

function hasSetpriv(): boolean {
  return (
    process.platform === "linux" && ["/usr/bin/setpriv", "/bin/setpriv"].some((path) => existsSync(path))
  );
}
