// Runs the keys module alone in a process.
import { run } from "@gr/runtime";
import { keysModule } from "./module.ts";

await run([keysModule]);
