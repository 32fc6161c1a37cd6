// This file owns the reaction of the bootstrap to SIGINT, SIGTERM and SIGHUP: it is always deliberate, never Node's default.
import { constants } from "node:os";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"];

/** Calls `handle(signal, exitCode)` for each stop signal until the returned function is called. */
export function onStopSignal(handle) {
  const listener = (signal) => handle(signal, exitCodeOf(signal));
  for (const signal of STOP_SIGNALS) process.on(signal, listener);
  return () => {
    for (const signal of STOP_SIGNALS) process.off(signal, listener);
  };
}

/** Returns a shell's exit code for a process that a signal ended. */
export function exitCodeOf(signal) {
  return 128 + constants.signals[signal];
}
