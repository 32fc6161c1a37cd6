// Runs the text proxy module alone in a process.
import { run } from "@gr/runtime";
import { textProxyModule } from "./module.ts";

await run([textProxyModule]);
