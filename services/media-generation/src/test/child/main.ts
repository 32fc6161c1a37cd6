// Media generation and its edge as a process of their own, to be killed by tests.
import { run } from "@gr/runtime";
import { crashModules } from "../crash-modules.ts";

await run(crashModules);
