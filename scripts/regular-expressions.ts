// The check of regular expressions: recheck computes the longest time that each of them can need. An expression with
// more than linear time blocks its process for minutes on a text of some 100 KB, and texts of clients are as long as 20
// MB. A text that a template inserts is checked as one letter. Tests are skipped: they match only text of their own.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "@swc/core";
import { checkSync } from "recheck";
import { ROOT, ToolError } from "./tool.ts";

/** The answer is then the same on every machine, busy or not. */
const NO_TIME_LIMITS = {
  ...{
    timeout: null,
    attackTimeout: null,
    incubationTimeout: null,
    recallTimeout: null,
    seedingTimeout: null,
  },
  randomSeed: 0,
};

interface Expression {
  readonly source: string;
  readonly flags: string;
}

interface Exception {
  readonly file: string;
  /** Absent: expressions that are built while the program runs. */
  readonly source?: string;
  readonly reason: string;
}

const OWN_FIGURES = "figures of our own answers, in the browser of their reader";
const OWN_MIGRATIONS = "matches only the migrations of this repository";
const OWN_TEXTS = "matches only comments and documents of this repository";
const EXCEPTIONS: readonly Exception[] = [
  {
    file: "apps/console/src/parts/figures/figure-text.ts",
    source: String.raw`\B(?=(\d{3})+$)`,
    reason: OWN_FIGURES,
  },
  {
    file: "scripts/removals.ts",
    source: String.raw`--[^\n]*|\/\*[\s\S]*?\*\/`,
    reason: OWN_MIGRATIONS,
  },
  {
    file: "scripts/removals.ts",
    source: String.raw`\bALTER\s+TABLE\b[^;]*\bDROP\s+(?!CONSTRAINT|DEFAULT|NOT\s+NULL|EXPRESSION|IDENTITY)\w`,
    reason: OWN_MIGRATIONS,
  },
  {
    file: "scripts/removals.ts",
    source: String.raw`\bADD\s+(COLUMN\s+)?(IF\s+NOT\s+EXISTS\s+)?\w+(?![^,;]*\bDEFAULT\b)[^,;]*\bNOT\s+NULL\b`,
    reason: OWN_MIGRATIONS,
  },
  { file: "scripts/word-faults.ts", source: String.raw`\]\([^)\n]*\)`, reason: OWN_TEXTS },
  { file: "scripts/word-faults.ts", source: String.raw`(?:^|\s)--\s?(.*)$`, reason: OWN_TEXTS },
  { file: "scripts/word-faults.ts", source: String.raw`(?:^|\s)\/\/\s?(.*)$`, reason: OWN_TEXTS },
  {
    file: "apps/simulator/src/reply/json-example.ts",
    reason: "a schema's pattern, matched in the sandbox against texts that the simulator makes",
  },
  {
    file: "scripts/jest/variant-environment.cjs",
    reason: "a pattern of our own mutants, matched against the names of our own tests",
  },
];

/** @throws ToolError that names each expression with its file, and each unused exception */
export async function checkRegularExpressions(): Promise<void> {
  const needed = new Set<Exception>();
  const complaints = productFiles().flatMap((file) => {
    const faults = faultsIn(readFileSync(join(ROOT, file), "utf8"), file.endsWith("x"));
    return faults.flatMap(({ source, fault }) => {
      const exception = EXCEPTIONS.find((row) => row.file === file && row.source === source);
      if (exception === undefined) return [`${file}: ${fault}`];
      needed.add(exception);
      return [];
    });
  });
  for (const row of EXCEPTIONS) {
    if (!needed.has(row)) complaints.push(`${row.file}: nothing needs its exception for /${row.source}/`);
  }
  if (complaints.length > 0) throw new ToolError(complaints.join("\n"));
}

interface Fault {
  /** Undefined for an expression that is built while the program runs. */
  readonly source: string | undefined;
  readonly fault: string;
}

/** Finds the expressions of a program that can need more than linear time, or that recheck cannot judge. */
export function faultsIn(program: string, hasTags = false): Fault[] {
  if (!program.includes("/") && !program.includes("RegExp")) return [];
  const found: (Expression | undefined)[] = [];
  collect(parseSync(program, { syntax: "typescript", tsx: hasTags, target: "es2024" }), found);
  return found.flatMap((expression): Fault[] => {
    if (expression === undefined)
      return [{ source: undefined, fault: "an expression is built while the program runs" }];
    const { source, flags } = expression;
    const needs = worstTime(expression);
    return needs === undefined ? [] : [{ source, fault: `/${source}/${flags} can need ${needs}` }];
  });
}

const known = new Map<string, string | undefined>();

/** Undefined if it is linear. */
function worstTime({ source, flags }: Expression): string | undefined {
  const repeats = /[*+{]/.test(source);
  if (!repeats) return undefined;
  const name = `/${source}/${flags}`;
  if (!known.has(name)) known.set(name, computeWorstTime(source, flags));
  return known.get(name);
}

function computeWorstTime(source: string, flags: string): string | undefined {
  const result = checkSync(source, flags, NO_TIME_LIMITS);
  if (result.status === "safe") return undefined;
  return result.status === "vulnerable" ? `${result.complexity.summary} time` : "an unknown time";
}

interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

function collect(part: unknown, found: (Expression | undefined)[]): void {
  if (Array.isArray(part)) {
    for (const item of part) collect(item, found);
    return;
  }
  if (typeof part !== "object" || part === null) return;
  const node = part as Node;
  if (node.type === "RegExpLiteral")
    found.push({ source: String(node["pattern"]), flags: String(node["flags"]) });
  if (node.type === "NewExpression" || node.type === "CallExpression") {
    const callee = node["callee"] as Node;
    if (callee.type === "Identifier" && callee["value"] === "RegExp") found.push(builtBy(node));
  }
  for (const member of Object.values(node)) collect(member, found);
}

/** The expression that `new RegExp(…)` builds; undefined if its text is neither a string nor a template. */
function builtBy(call: Node): Expression | undefined {
  const [text, flags] = (call["arguments"] as { expression: Node }[]).map(({ expression }) =>
    textOf(expression),
  );
  return text === undefined ? undefined : { source: text, flags: flags ?? "" };
}

function textOf(node: Node): string | undefined {
  if (node.type === "StringLiteral") return String(node["value"]);
  if (node.type !== "TemplateLiteral") return undefined;
  return (node["quasis"] as { cooked: string }[]).map(({ cooked }) => cooked).join("x");
}

function productFiles(): string[] {
  const listed = execFileSync("git", ["ls-files", "*.ts", "*.tsx", "*.mjs", "*.cjs"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const left = /\.test\.tsx?$|(^|\/)test\/|^(simulation|packages\/testing|proto\/src\/gen)\//;
  return listed.split("\n").filter((file) => file !== "" && !left.test(file));
}
