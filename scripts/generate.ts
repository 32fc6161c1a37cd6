// `npm run generate` regenerates proto/src/gen from the contract in proto/.
import { generateCode } from "./generated-code.ts";
import { ToolError } from "./tool.ts";

try {
  await generateCode();
} catch (error) {
  if (!(error instanceof ToolError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
