// `npm run generate` writes proto/src/gen from the contract in proto/, docs/operations/ from the schemas of settings, and
// the pages of the guides from docs/.
import { generateCode } from "./generated-code.ts";
import { writeGuidePages } from "./guides/guide-pages.ts";
import { writeSettingsPages } from "./settings-pages.ts";
import { ToolError } from "./tool.ts";

try {
  await generateCode();
  await writeSettingsPages();
  await writeGuidePages();
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
