// `npm run words` measures the wording of comments and documents; `npm run check` calls the same check.
// No file has more faults than scripts/words-limits.json allows; a new file has none above the rules.
// The limits only fall: `npm run words -- --record` writes the file and refuses a higher limit.
// Without arguments the command shows the figures of each folder; with paths, also each fault and its line.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT, ToolError } from "./tool.ts";
import {
  MEAN_SENTENCE,
  NOUNS_PER_1000,
  VERBS_PER_1000,
  type WordFault,
  type WordFigures,
  wordFigures,
} from "./word-faults.ts";

const LIMITS = join(ROOT, "scripts/words-limits.json");
const READ = /\.([cm]?[jt]sx?|md|proto|sql)$/;
/** The served description is checked beside its sources: parts of it are put together when it is rendered. */
const DESCRIPTION = "docs/openapi.json";
const NOT_READ = /(^|\/)(gen|generated|testdata|fixtures)\/|pnpm-lock|^CHANGELOG\.md$|^scripts\/release\//;

type Rule = WordFault["rule"] | "mean";
type Excess = Partial<Record<Rule, number>>;

function filesUnder(paths: readonly string[]): string[] {
  const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard", "--", ...paths], {
    cwd: ROOT,
  });
  const files = listed.toString().split("\n");
  return files.filter(
    (file) =>
      (READ.test(file) || file === DESCRIPTION) && !NOT_READ.test(file) && existsSync(join(ROOT, file)),
  );
}

const figuresOf = (file: string) => wordFigures(file, readFileSync(join(ROOT, file), "utf8"));
const countOf = ({ faults }: WordFigures, rule: WordFault["rule"]) =>
  faults.filter((fault) => fault.rule === rule).length;

/** Counts by which a file is above the rules; a rule that the file meets is absent. */
function excessOf(figures: WordFigures): Excess {
  const { words, sentences, stringWords } = figures;
  const opener = countOf(figures, "opener");
  const counts: Record<Rule, number> = {
    opener,
    noun: Math.max(0, countOf(figures, "noun") + opener - Math.ceil((words * NOUNS_PER_1000) / 1000)),
    verb: Math.max(0, countOf(figures, "verb") - Math.ceil((words * VERBS_PER_1000) / 1000)),
    sentence: countOf(figures, "sentence"),
    string: Math.max(0, countOf(figures, "string") - Math.ceil((stringWords * NOUNS_PER_1000) / 1000)),
    mean: Math.max(0, words - sentences * MEAN_SENTENCE - MEAN_SENTENCE),
  };
  return Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
}

type Limits = Record<string, Excess>;
const readLimits = (): Limits =>
  existsSync(LIMITS) ? (JSON.parse(readFileSync(LIMITS, "utf8")) as Limits) : {};

const isAbove = (excess: Excess, limit: Excess = {}) =>
  Object.entries(excess).some(([rule, count]) => count > (limit[rule as Rule] ?? 0));

/** @throws ToolError that names each file with more faults than its limit */
export async function checkWords(): Promise<void> {
  const limits = readLimits();
  const complaints = filesUnder([]).flatMap((file) => {
    const figures = figuresOf(file);
    const excess = excessOf(figures);
    if (!isAbove(excess, limits[file])) return [];
    return [
      `${file}: ${JSON.stringify(excess)} above the rules, allowed ${JSON.stringify(limits[file] ?? {})}`,
    ];
  });
  if (complaints.length === 0) return;
  throw new ToolError(`${complaints.join("\n")}\nnpm run words -- FILE shows each fault with its line.`);
}

function record(): void {
  const before = existsSync(LIMITS) ? readLimits() : undefined;
  const limits: Limits = {};
  for (const file of filesUnder([])) {
    const excess = excessOf(figuresOf(file));
    if (Object.keys(excess).length === 0) continue;
    if (before !== undefined && isAbove(excess, before[file]))
      throw new ToolError(`${file} has more faults than its limit allows: ${JSON.stringify(excess)}`);
    limits[file] = excess;
  }
  const rows = Object.entries(limits).map(([file, excess]) => {
    const counts = Object.entries(excess).map(([rule, count]) => `"${rule}": ${count}`);
    return `  "${file}": { ${counts.join(", ")} }`;
  });
  writeFileSync(LIMITS, `{\n${rows.join(",\n")}\n}\n`);
}

function describe(name: string, all: readonly WordFigures[]): string {
  const sum = (of: (figures: WordFigures) => number) => all.reduce((total, one) => total + of(one), 0);
  const words = sum((one) => one.words);
  const per1000 = (count: number) => ((count * 1000) / Math.max(1, words)).toFixed(1);
  const nouns = sum((one) => countOf(one, "noun") + countOf(one, "opener"));
  return [
    name.padEnd(44),
    `${words} words`.padStart(13),
    `nouns ${per1000(nouns)}`.padStart(11),
    `verbs ${per1000(sum((one) => countOf(one, "verb")))}`.padStart(11),
    `openers ${sum((one) => countOf(one, "opener"))}`.padStart(13),
    `mean ${(
      words /
        Math.max(
          1,
          sum((one) => one.sentences),
        )
    ).toFixed(1)}`.padStart(11),
    `long ${sum((one) => countOf(one, "sentence"))}`.padStart(9),
  ].join("");
}

function show(paths: readonly string[]): void {
  const groups = new Map<string, WordFigures[]>();
  for (const file of filesUnder(paths.map((path) => relative(ROOT, join(process.cwd(), path))))) {
    const figures = figuresOf(file);
    const name = paths.length > 0 ? file : folderOf(file);
    groups.set(name, [...(groups.get(name) ?? []), figures]);
    if (paths.length === 0) continue;
    for (const { line, rule, text } of figures.faults)
      process.stdout.write(`${file}:${line}  ${rule}: ${text}\n`);
  }
  for (const [name, figures] of groups) process.stdout.write(`${describe(name, figures)}\n`);
  process.stdout.write(`${describe("all", [...groups.values()].flat())}\n`);
}

function folderOf(file: string): string {
  const kind = file.endsWith(".md") ? " (documents)" : "";
  const [top = "", second] = file.split("/");
  const deep = /^(apps|packages|services|test)$/.test(top) && second !== undefined;
  return `${deep && !second?.includes(".") ? `${top}/${second}` : file.includes("/") ? top : "."}${kind}`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const args = process.argv.slice(2);
  try {
    if (args.includes("--record")) record();
    else show(args);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 1;
  }
}
