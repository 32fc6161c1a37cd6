// Crash log owns the file of one writer in the crash ring: calls, and the codes of their operations. A call without codes has an
// unknown outcome.
import type { ChainOperation } from "../../chain/chain-operation.ts";
import type { CrashAccount } from "./crash-load.ts";

export interface CrashSettings {
  readonly url: string;
  readonly logFile: string;
  readonly accounts: readonly CrashAccount[];
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly seed: number;
}

export interface LoggedCall {
  readonly id: string;
  readonly call: readonly ChainOperation[];
  /** Line of the call. */
  readonly sentAt: number;
}

export interface AnsweredCall extends LoggedCall {
  readonly codes: readonly string[];
  /** Line of the codes. */
  readonly answeredAt: number;
}

export interface CrashLog {
  readonly answered: readonly AnsweredCall[];
  readonly unanswered: readonly LoggedCall[];
  /** Errors that no caller may see. */
  readonly faults: readonly string[];
}

/** Text of calls and settings; an integer of 64 bits has the suffix n. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_name, part: unknown) => (typeof part === "bigint" ? `${part}n` : part));
}

/** A line without a complete value was cut by a kill. */
export function readLog(text: string): CrashLog {
  const calls = new Map<string, LoggedCall>();
  const answered: AnsweredCall[] = [];
  const faults: string[] = [];
  for (const [index, line] of text.split("\n").entries()) {
    const [, kind, id = "", json = ""] = /^(call|done|fault) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === undefined || !/[\]"]$/.test(json)) continue;
    if (kind === "call") {
      calls.set(id, { id, call: parsed(json) as readonly ChainOperation[], sentAt: index });
      continue;
    }
    const call = calls.get(id);
    if (call === undefined) continue;
    calls.delete(id);
    if (kind === "done") answered.push({ ...call, codes: JSON.parse(json), answeredAt: index });
    else faults.push(json);
  }
  return { answered, unanswered: [...calls.values()], faults };
}

export function parsed(json: string): unknown {
  return JSON.parse(json, (_name, value: unknown) => {
    if (typeof value === "string" && /^-?\d+n$/.test(value)) return BigInt(value.slice(0, -1));
    const bytes = value as { readonly type?: unknown; readonly data?: number[] } | null;
    return bytes?.type === "Buffer" ? Buffer.from(bytes.data ?? []) : value;
  });
}
