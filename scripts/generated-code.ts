// Generated code is the output of buf for proto/. It is committed, so that running and reading the project need no buf.
// The check generates it again in another folder and compares, so that it is always current.
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT, runTool, ToolError } from "./tool.ts";

const PROTO = join(ROOT, "proto");
const GENERATED = "src/gen";

export async function generateCode(): Promise<void> {
  await runTool("buf", ["generate"], PROTO);
}

/** @throws ToolError that names the files which `npm run generate` would change. */
export async function checkGeneratedCode(): Promise<void> {
  const fresh = await mkdtemp(join(tmpdir(), "generated-code-"));
  try {
    await runTool("buf", ["generate", "--output", fresh], PROTO);
    const stale = await differences(join(PROTO, GENERATED), join(fresh, GENERATED));
    if (stale.length > 0) {
      throw new ToolError(`proto/${GENERATED} is not current; run "npm run generate":\n${stale.join("\n")}`);
    }
  } finally {
    await rm(fresh, { recursive: true });
  }
}

async function differences(left: string, right: string): Promise<string[]> {
  const [ours, theirs] = await Promise.all([contents(left), contents(right)]);
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  return [...names].filter((name) => ours.get(name) !== theirs.get(name)).sort();
}

async function contents(folder: string): Promise<Map<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = files.map(async (file) => [file.slice(folder.length), await readFile(file, "utf8")] as const);
  return new Map(await Promise.all(read));
}
