// All tests of pages in one realm: each realm loads the application anew, and runs its code cold. jest selects this file instead of the
// single ones if it finds both (scripts/jest/select-tests.cjs).
import { globSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const SOURCES = fileURLToPath(new URL("..", import.meta.url));
const OWN = fileURLToPath(import.meta.url);

const files = globSync("**/*.test.tsx", { cwd: SOURCES }).map((name) => join(SOURCES, name));
for (const file of files.toSorted()) if (file !== OWN) await import(pathToFileURL(file).href);
