// Hold settings are shared by all modules that place holds and resolve those with an unknown outcome.
import { milliseconds } from "@gr/runtime";
import { z } from "zod";

export const holdConfig = z.object({
  HOLD_LEASE_MS: milliseconds(600_000).describe(
    "duration of the hold of a text request before its running request renews it. After the death of the process, the hold stays open for this time and the grace",
  ),
  HOLD_GRACE_MS: milliseconds(60_000).describe(
    "time after the last moment of an answer in which an upstream may still book the request; then the resolver looks up its hold",
  ),
  RESOLVE_INTERVAL_MS: milliseconds(10_000).describe("pause between two rounds over overdue holds"),
});
