// Runs media generation alone.
import { run } from "@gr/runtime";
import { mediaGenerationModule } from "./index.ts";

await run([mediaGenerationModule]);
