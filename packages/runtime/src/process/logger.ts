// Structured logs on stdout, one line per event. Secrets are redacted here, not by the callers' care.
import { type Logger as PinoLogger, pino } from "pino";
import { currentLogFields } from "./current-request.ts";

export type Logger = PinoLogger;
export type LogLevel = "fatal" | "error" | "warn" | "info" | "debug" | "trace" | "silent";

const SECRET_PATHS = [
  "authorization",
  "*.authorization",
  "headers.authorization",
  "secret",
  "*.secret",
  "key",
];

/** Creates a logger that adds the current request, its principal and its trace to each line. */
export function createLogger(level: LogLevel, name: string): Logger {
  return pino({
    level,
    name,
    redact: { paths: SECRET_PATHS, censor: "[redacted]" },
    mixin: currentLogFields,
  });
}
