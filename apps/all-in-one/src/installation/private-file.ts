// Private files are JSON files in DATA_DIR that only their owner may read. A write is atomic: after a kill, the file is
// the old or the new one, never half of it.
import { readFile, rename, writeFile } from "node:fs/promises";
import { OperatorError } from "@gr/runtime";

/** The parsed content; undefined when there is no such file. @throws OperatorError when it is not JSON. */
export async function readPrivateFile(path: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new OperatorError(`Cannot read ${path}: ${(error as Error).message}.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new OperatorError(`${path} is not valid JSON; restore it, or move it away to start afresh.`);
  }
}

export async function writePrivateFile(path: string, content: unknown): Promise<void> {
  const draft = `${path}.${process.pid}.tmp`;
  await writeFile(draft, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  await rename(draft, path);
}
