// Runs the gateway as a process of its own.
import { run } from "@gr/runtime";
import { gatewayModule } from "./module.ts";

await run([gatewayModule]);
