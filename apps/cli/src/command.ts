// Command defines how a command becomes an action: its work returns a report, and the runner prints it.
// Commands import this file and not the runner, which imports all commands.
import type { Report } from "./output/report.ts";
import type { Router } from "./router/router.ts";

/** Wraps the work of a command into a commander action. */
export type Runs = <Arguments extends unknown[]>(
  work: (router: Router, ...args: Arguments) => Promise<Report>,
) => (...args: Arguments) => Promise<void>;

/** Wraps the work of a command that needs no router. */
export type RunsAlone = <Arguments extends unknown[]>(
  work: (...args: Arguments) => Promise<Report>,
) => (...args: Arguments) => Promise<void>;
