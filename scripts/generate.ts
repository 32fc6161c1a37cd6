// `npm run generate` writes proto/src/gen from the contract in proto/, and docs/operations/ from the schemas of settings.
import { generateCode } from "./generated-code.ts";
import { writeSettingsPages } from "./settings-pages.ts";
import { ToolError } from "./tool.ts";

try {
  await generateCode();
  await writeSettingsPages();
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
