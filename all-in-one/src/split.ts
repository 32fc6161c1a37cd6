// `npm run start:split`: every service its own process, as in a cluster, on one machine.
import { runUntilSignal } from "@gr/runtime";
import { startSplit } from "./split-topology.ts";

await runUntilSignal(() => startSplit(process.env, (text) => process.stdout.write(text)));
