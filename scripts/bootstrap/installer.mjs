// This file runs npm and pnpm as installers. An installer prints nothing unless it fails, is listed in the install lock, and
// stops with the bootstrap.
import { spawn } from "node:child_process";
import path from "node:path";
import { BootstrapError, describeInstallFailure } from "./bootstrap-error.mjs";
import { recordInstaller } from "./install-lock.mjs";

const KEPT_OUTPUT = 64 * 1024;
const running = new Set();

/** Settings of retries: with their own waits, npm and pnpm report a missing network only after minutes. */
export const FETCH_RETRIES = ["fetch-retries=2", "fetch-retry-mintimeout=500", "fetch-retry-maxtimeout=1000"];

/**
 * Runs an installer to its end. Messages name the thing to install by `what`. Rejects with a BootstrapError if the command fails.
 * @returns {Promise<void>}
 */
export function runInstaller(what, command, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: installerEnv(), stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const keep = (chunk) => {
      output = (output + chunk).slice(-KEPT_OUTPUT);
    };
    child.stdout.on("data", keep);
    child.stderr.on("data", keep);
    child.once("spawn", () => {
      running.add(child);
      recordInstaller(child.pid);
    });
    child.once("error", (error) => reject(startFailure(command, error)));
    child.once("close", (code) => {
      running.delete(child);
      if (code === 0) resolve();
      else reject(new BootstrapError(describeInstallFailure(what, output)));
    });
  });
}

export function stopInstallers() {
  for (const child of running) child.kill("SIGTERM");
}

/** Returns the npm that runs the bootstrap, else the npm on the PATH. */
export function npmCommand() {
  const cli = process.env.npm_execpath;
  return cli && /npm-cli\.c?js$/.test(cli) ? [process.execPath, cli] : ["npm"];
}

function startFailure(command, error) {
  if (error.code === "ENOENT") {
    const name = path.basename(command);
    return new BootstrapError(
      `${name} was not found on the PATH; install Node.js 20 or newer together with npm.`,
    );
  }
  return error;
}

/**
 * Returns the environment of an installer. npm passes its whole configuration to its child processes (`npm_config_global`,
 * `npm_lifecycle_event`, …), and an installer among them would use it as its own. So only the settings that are needed to
 * reach the registry are passed on.
 */
function installerEnv() {
  const kept =
    /^npm_config_(registry|cafile|ca|cache|userconfig|proxy|https_proxy|noproxy|strict_ssl|\/\/.*|@.*)$/i;
  const entries = Object.entries(process.env).filter(
    ([name]) => !/^(npm|pnpm)_/i.test(name) || kept.test(name),
  );
  const PATH = path.dirname(process.execPath) + path.delimiter + (process.env.PATH ?? "");
  return { ...Object.fromEntries(entries), PATH, CI: "true" };
}
