// Runs the billing module alone in a process.
import { run } from "@gr/runtime";
import { billingModule } from "./module.ts";

await run([billingModule]);
