// Runs the catalogue module alone in a process.
import { run } from "@gr/runtime";
import { catalogModule } from "./module.ts";

await run([catalogModule]);
