#!/usr/bin/env node
// The bootstrap runs one TypeScript entry on a clone in any state: `node scripts/bootstrap.mjs <entry.ts> [args…]`.
// It needs Node >= 20 with npm and nothing else; it installs the pinned Node, pnpm and the packages if they are missing.
// On a ready clone it acquires no lock and starts no process but the entry. Every failure is one sentence on stderr.
import { existsSync } from "node:fs";
import path from "node:path";
import { BootstrapError, describeFailure } from "./bootstrap/bootstrap-error.mjs";
import { withInstallLock } from "./bootstrap/install-lock.mjs";
import { stopInstallers } from "./bootstrap/installer.mjs";
import { ROOT } from "./bootstrap/layout.mjs";
import { runEntry } from "./bootstrap/run-entry.mjs";
import { onStopSignal } from "./bootstrap/stop-signals.mjs";
import { findNode, installNode, removeDrafts } from "./bootstrap/toolchain.mjs";
import { installWorkspace, workspaceIsReady } from "./bootstrap/workspace.mjs";

/** @param {string[]} words the entry, relative to the clone, and its arguments */
async function main([entry, ...args]) {
  if (process.platform === "win32") throw new BootstrapError("Windows is supported inside WSL only.");
  if (Number.parseInt(process.versions.node, 10) < 20) {
    throw new BootstrapError(`Node.js 20 or newer is needed, this is ${process.version}.`);
  }
  if (!entry) throw new BootstrapError("usage: node scripts/bootstrap.mjs <entry.ts> [args…]");
  const file = path.resolve(ROOT, entry);
  if (!existsSync(file)) throw new BootstrapError(`there is no file ${entry} in this clone.`);

  const cancel = onStopSignal((_signal, exitCode) => {
    stopInstallers();
    process.exit(exitCode);
  });
  const node = await readyNode();
  cancel();
  return await runEntry(node, file, args);
}

/** Resolves with the path of the Node binary for the entry, once Node and the workspace packages are installed. */
async function readyNode() {
  const found = findNode();
  if (found && workspaceIsReady()) return found;
  return await withInstallLock(async () => {
    removeDrafts();
    const jobs = [findNode() ?? installNode(), workspaceIsReady() || installWorkspace()];
    try {
      const [node] = await Promise.all(jobs);
      return node;
    } catch (error) {
      // The lock is released only when no installer runs any more.
      stopInstallers();
      await Promise.allSettled(jobs);
      throw error;
    }
  });
}

main(process.argv.slice(2)).then(
  (exitCode) => process.exit(exitCode),
  (error) => {
    stopInstallers();
    process.stderr.write(`bootstrap: ${describeFailure(error)}\n`);
    process.exit(1);
  },
);
