// What happens in the console, each as one function: a counter and a log line. Ids and reasons only, never an address of a
// person, a token or a cookie.
import type { Reason } from "@gr/proto";
import type { Logger } from "@gr/runtime";
import { Counter, type Registry } from "prom-client";

export interface ConsoleEvents {
  signedIn(personId: string): void;
  /** A request was refused, for whatever reason; many of one reason are worth a look. */
  refused(reason: Reason): void;
}

export function createConsoleEvents(log: Logger, metrics: Registry): ConsoleEvents {
  const registers = [metrics];
  const signIns = new Counter({
    name: "console_sign_ins_total",
    help: "Sessions that were begun",
    registers,
  });
  const refusals = new Counter({
    name: "console_refusals_total",
    help: "Requests to the console that were refused, by reason",
    labelNames: ["reason"],
    registers,
  });
  return {
    signedIn: (personId) => {
      signIns.inc();
      log.info({ personId }, "signed in");
    },
    refused: (reason) => refusals.inc({ reason }),
  };
}
