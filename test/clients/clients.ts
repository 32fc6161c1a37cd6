// The programs of docs/clients.md that `npm run test:clients` installs, and a prompt for each that edits a file. Versions
// are exact.
import type { NpmProgram } from "./npm-program.ts";

export interface ClientProgram {
  /** Heading of its section in docs/clients.md. */
  readonly section: string;
  /** Command in the section. */
  readonly command: string;
  readonly source: NpmProgram | PythonProgram;
  /** Returns a prompt that makes the simulator write `hello` into a file. @param file absolute path */
  readonly writing: (file: string) => string;
}

export interface PythonProgram {
  readonly name: string;
  readonly version: string;
  /** File beside this one, with the package, all of its dependencies and their digests. */
  readonly requirements: string;
  /** Module that `python -m` runs. */
  readonly module: string;
}

/** A day at least three days before the newest pinned version was chosen. */
const AS_OF = "2026-11-23";

const npm = (name: string, version: string, script?: string): NpmProgram => ({
  name,
  version,
  asOf: AS_OF,
  ...(script === undefined ? {} : { script }),
});

/** Without spaces, because some clients quote an argument with spaces again. */
const calling = (name: string, args: object) => `#call=${JSON.stringify({ name, arguments: args })}`;

export const CLIENTS: readonly ClientProgram[] = [
  {
    section: "Codex",
    command: "codex",
    source: npm("@openai/codex", "0.169.0"),
    writing: (file) => calling("exec_command", { cmd: `echo hello>${file}` }),
  },
  {
    section: "opencode",
    command: "opencode",
    source: npm("opencode-ai", "1.18.33", "postinstall.mjs"),
    writing: (file) => calling("write", { filePath: file, content: "hello\n" }),
  },
  {
    section: "GitHub Copilot CLI",
    command: "copilot",
    source: npm("@github/copilot", "1.0.102"),
    writing: (file) => calling("bash", { command: `echo hello>${file}`, description: "write" }),
  },
  {
    section: "aider",
    command: "aider",
    source: { name: "aider-chat", version: "0.86.2", requirements: "python/aider.txt", module: "aider" },
    writing: (file) => `#answer=${JSON.stringify(`${file}\n\`\`\`\nhello\n\`\`\`\n`)}`,
  },
  {
    section: "Cline",
    command: "cline",
    source: npm("cline", "3.0.65"),
    writing: (file) => calling("run_commands", { commands: [`echo hello>${file}`] }),
  },
  {
    section: "Qwen Code",
    command: "qwen",
    source: npm("@qwen-code/qwen-code", "0.24.4"),
    writing: (file) => calling("write_file", { file_path: file, content: "hello\n" }),
  },
];

/** Sections with a program that does not run here, with the reason. */
export const NOT_RUN: Readonly<Record<string, string>> = {
  "Open WebUI":
    "its packages need 7 GB; version 0.12.4 was run by hand on 2026-11-27: a chat, a picture and an edit over its own API",
};
