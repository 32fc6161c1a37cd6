// All tests of pages in one realm. Each further realm loads the application anew and runs cold code. If jest finds all of them, it runs this
// file alone (scripts/jest/select-tests.cjs).
import { globSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const SOURCES = fileURLToPath(new URL("..", import.meta.url));
const OWN = fileURLToPath(import.meta.url);

const files = globSync("**/*.test.tsx", { cwd: SOURCES }).map((name) => join(SOURCES, name));
for (const file of files.toSorted()) if (file !== OWN) await import(pathToFileURL(file).href);
