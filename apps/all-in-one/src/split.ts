// `npm run start:split`: every service its own process, as in a cluster, on one machine.
import { runUntilSignal } from "@gr/runtime";
import { stdoutScreen } from "./first-start/banner.ts";
import { startSplit } from "./split-topology.ts";

await runUntilSignal(() => startSplit(process.env, stdoutScreen));
