// This file owns the messages of failures: each is one sentence for the person at the keyboard.
// No message has a stack trace: a person at the first start of a clone cannot use it.

/** Failure that has its sentence as its message; `describeFailure` words all other failures. */
export class BootstrapError extends Error {}

const CAUSES = {
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  EMFILE: "too many open files",
};

export function describeFailure(error) {
  if (error instanceof BootstrapError) return error.message;
  const cause = CAUSES[error?.code];
  if (cause) return `cannot write to ${error.path ?? "this clone"}: ${cause}.`;
  return `unexpected failure: ${String(error?.message ?? error).split("\n", 1)[0]}`;
}

const NETWORK =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET|fetch failed|error sending request|dns error|network/i;

/** Returns one sentence about a failed install of `what`. @param output the last output of npm or pnpm */
export function describeInstallFailure(what, output) {
  if (/ENOSPC|no space left/i.test(output)) return `could not install ${what}: the disk is full.`;
  if (/EACCES|EROFS|permission denied/i.test(output)) return `could not install ${what}: permission denied.`;
  const network = NETWORK.exec(output)?.[0];
  if (network) {
    return `could not install ${what}: the npm registry cannot be reached (${network}); check the network and npm's registry and proxy settings.`;
  }
  return `could not install ${what}: ${reasonIn(output) ?? "the installer gave no reason."}`;
}

/** Returns the reason: pnpm writes it after an arrow, over several lines; npm on a line of its own; else the last line has it. */
function reasonIn(output) {
  const arrow = /╰─▶ (.+(?:\n +\S.*)*)/.exec(output)?.[1]?.replace(/\s+/g, " ");
  if (arrow) return arrow;
  const lines = output.split("\n").map((line) => line.trim());
  return (
    lines.find((line) => /ERR_PNPM|npm error (?!code|A complete log)/.test(line)) ?? lines.findLast(Boolean)
  );
}
