// `npm run sbom`: the software bill of materials of everything that the lockfile installs, as CycloneDX, into dist/sbom.cdx.json.
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readyPnpm } from "./bootstrap/toolchain.mjs";
import { ROOT, runTool, ToolError } from "./tool.ts";

const FILE = join(ROOT, "dist", "sbom.cdx.json");

try {
  await mkdir(dirname(FILE), { recursive: true });
  const format = ["--sbom-format", "cyclonedx", "--sbom-type", "application"];
  await runTool(await readyPnpm(), ["sbom", "--lockfile-only", ...format, "--out", FILE]);
  process.stdout.write(`wrote ${FILE}\n`);
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  process.stderr.write(`the bill of materials could not be made: ${error.message}\n`);
  process.exitCode = 1;
}
