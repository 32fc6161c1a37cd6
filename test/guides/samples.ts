// The samples of a document: its code blocks, joined by language to one program, since they continue each other. A
// program runs in an empty folder beside a router's `.data`. Only the address of the router differs from the text.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { ROOT } from "../../scripts/tool.ts";
import type { Router } from "../e2e/topology.ts";

export interface Sample {
  /** Line of its first character in the document. */
  readonly line: number;
  /** Word behind the opening fence. */
  readonly language: string;
  /** Heading of its section. */
  readonly section: string;
  /** Last line of text in front of it. */
  readonly before: string;
  readonly text: string;
}

/** Documents with samples for callers. */
export const GUIDES = ["README.md", "docs/api.md", "docs/api-videos.md", "docs/clients.md"] as const;
/** Address of a router in documents. */
export const DOCUMENTED_URL = "http://127.0.0.1:8080";
/** Address of a receiver of webhooks in documents. */
export const DOCUMENTED_RECEIVER = "https://example.com";

const FENCE = /^```(\S*)/;
const HEADING = /^#+ (.+)/;
/** Commands of the repository and of containers; `test/e2e/start.test.ts` starts the router. */
const OF_OPERATORS = /^(?:[A-Z_]+=\S* )*(?:npm|docker|cp) /;
/** Without it curl succeeds after each answer with an error. */
const CURL_SETTINGS = "fail-with-body\nsilent\nshow-error\n";

/** @param path from the root of the repository */
export async function samplesOf(path: string): Promise<Sample[]> {
  const samples: Sample[] = [];
  const lines = (await readFile(join(ROOT, path), "utf8")).split("\n");
  let section = "";
  let before = "";
  let open: { line: number; language: string; lines: string[] } | undefined;
  for (const [index, line] of lines.entries()) {
    const [, language] = FENCE.exec(line) ?? [];
    if (language !== undefined && open !== undefined) {
      const { lines: text, ...rest } = open;
      samples.push({ ...rest, section, before, text: text.join("\n") });
      open = undefined;
    } else if (language !== undefined) open = { line: index + 2, language, lines: [] };
    else if (open !== undefined) open.lines.push(line);
    else {
      section = HEADING.exec(line)?.[1] ?? section;
      if (line !== "") before = line;
    }
  }
  return samples;
}

/** Returns true for blocks with commands of the operator only: they start the router. */
export function isForOperators({ text }: Sample): boolean {
  const commands = text.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("#"));
  return commands.every((line) => OF_OPERATORS.test(line));
}

/** Returns the changed program of a `diff` block. */
export function changedProgram({ text }: Sample): string {
  const lines = text.split("\n").filter((line) => !line.startsWith("-"));
  return lines.map((line) => line.slice(1)).join("\n");
}

/** Prepares a folder as the samples expect it: the keys of the router, and a home. */
export async function prepareFolder(folder: string, router: Pick<Router, "dataDir">): Promise<void> {
  await symlink(router.dataDir, join(folder, ".data"));
  await writeFile(join(folder, ".curlrc"), CURL_SETTINGS);
}

/** Returns a search path with the Node of the repository first, as in the documents. */
export const samplesPath = () => `${dirname(process.execPath)}:${process.env["PATH"] ?? ""}`;

interface Language {
  readonly file: string;
  /** Returns a statement that prints a mark. */
  readonly mark: (mark: string) => string;
  /** First line of the program. */
  readonly opening: string;
}

const LANGUAGES: Readonly<Record<string, Language>> = {
  sh: { file: "samples.sh", mark: (mark) => `echo "${mark}" >&2`, opening: "set -e -o pipefail" },
  js: { file: "samples.mjs", mark: (mark) => `console.error("${mark}");`, opening: "" },
  python: {
    file: "samples.py",
    mark: (mark) => `import sys; print("${mark}", file=sys.stderr)`,
    opening: "",
  },
};

/**
 * Runs the samples of one language in their order, as one program.
 * @param program runs a file of the language
 * @param more another address of a receiver; environment; a last statement of the program
 * @returns the output
 * @throws Error with the line of the sample that fails
 */
export async function runSamples(
  router: Pick<Router, "baseUrl" | "dataDir" | "apiKey" | "managementKey">,
  samples: readonly Sample[],
  program: string,
  more: { receiver?: string; env?: Readonly<Record<string, string>>; last?: string } = {},
): Promise<string> {
  const language = samples[0]?.language ?? "";
  const traits = LANGUAGES[language];
  if (traits === undefined) throw new Error(`No program runs ${language}`);
  const folder = await mkdtemp(join(tmpdir(), "samples-"));
  try {
    await prepareFolder(folder, router);
    await symlink(join(ROOT, "node_modules"), join(folder, "node_modules"));
    const marks = samples.map(({ line }) => `line ${line}`);
    const parts = samples.flatMap(({ text }, index) => [traits.mark(marks[index] ?? ""), text]);
    const text = [traits.opening, ...parts, more.last ?? "", ""]
      .join("\n")
      .replaceAll(DOCUMENTED_URL, router.baseUrl)
      .replaceAll(DOCUMENTED_RECEIVER, more.receiver ?? DOCUMENTED_RECEIVER);
    await writeFile(join(folder, traits.file), text);
    const env = {
      PATH: samplesPath(),
      HOME: folder,
      PYTHONDONTWRITEBYTECODE: "1",
      // The shell samples read both from the file.
      ...(language === "sh" ? {} : { API_KEY: router.apiKey, MANAGEMENT_KEY: router.managementKey }),
      ...more.env,
    };
    const options = { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 };
    const ended = await promisify(execFile)(program, [traits.file], options).catch((error: unknown) => {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      throw new Error(`A sample fails after the last of these lines:\n${stderr}\n${stdout}`);
    });
    const reached = ended.stderr.split("\n").filter((line) => marks.includes(line));
    if (reached.length < marks.length) throw new Error(`The samples end early, after ${reached.at(-1)}`);
    return ended.stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
