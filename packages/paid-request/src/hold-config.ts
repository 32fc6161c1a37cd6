// Hold settings are shared by all modules that place holds and resolve those with an unknown outcome.
import { milliseconds } from "@gr/runtime";
import { z } from "zod";

export const holdConfig = z.object({
  HOLD_LEASE_MS: milliseconds(600_000).describe(
    "how long a hold of a text request lasts before it is renewed while its request runs",
  ),
  HOLD_GRACE_MS: milliseconds(60_000).describe(
    "how long after its last moment to answer an upstream may still book a request",
  ),
  RESOLVE_INTERVAL_MS: milliseconds(10_000).describe("pause between two rounds of resolving open holds"),
});
