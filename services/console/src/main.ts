// Runs the console module alone in a process.
import { run } from "@gr/runtime";
import { consoleModule } from "./module.ts";

await run([consoleModule]);
