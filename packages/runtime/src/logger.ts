// Structured logs on stdout, one line per event. Secrets are redacted here, not by the callers' care.
import { type Logger as PinoLogger, pino } from "pino";

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

export function createLogger(level: LogLevel, name: string): Logger {
  return pino({ level, name, redact: { paths: SECRET_PATHS, censor: "[redacted]" } });
}
