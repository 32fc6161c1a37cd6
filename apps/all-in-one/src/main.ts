// `npm start`: the whole router in one process, with embedded PostgreSQL and, when no provider is configured,
// the simulator.
import { runUntilSignal } from "@gr/runtime";
import { startAllInOne } from "./all-in-one.ts";
import { stdoutScreen } from "./first-start/banner.ts";

await runUntilSignal(() => startAllInOne(process.env, stdoutScreen));
