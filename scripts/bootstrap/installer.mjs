// Runs npm and pnpm as installers: quiet unless they fail, listed in the install lock, stopped with the bootstrap.
import { spawn } from "node:child_process";
import path from "node:path";
import { BootstrapError, describeInstallFailure } from "./bootstrap-error.mjs";
import { recordInstaller } from "./install-lock.mjs";

const KEPT_OUTPUT = 64 * 1024;
const running = new Set();

/** npm's and pnpm's own waits add up to minutes before either says that there is no network. */
export const FETCH_RETRIES = ["fetch-retries=2", "fetch-retry-mintimeout=500", "fetch-retry-maxtimeout=1000"];

/**
 * `what` names the thing to install in messages. Rejects with a BootstrapError when the command fails.
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

/** The npm that runs us, else the one on the PATH. */
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
 * npm hands its whole configuration to what it starts (`npm_config_global`, `npm_lifecycle_event`, …); an installer
 * started from there would take it for its own. Only what says how to reach the registry is passed on.
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
