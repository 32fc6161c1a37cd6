// A report is the result of a command: the same facts for people and for programs.

export interface Report {
  /** Printed as JSON; amounts are decimal strings of USD, times are ISO 8601. */
  readonly data: unknown;
  readonly text: string;
  /** False: the command worked, and it found a fault; exit code 1. */
  readonly ok: boolean;
}

export function report(data: unknown, text: string, ok = true): Report {
  return { data, text, ok };
}
