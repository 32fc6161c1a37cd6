// Standing routes report the permission of an account to spend; billing decides. The reason is in the operator's line of the audit log.
import type { AccountStanding } from "@gr/console-api";
import type { ConsoleDeps } from "../../console-deps.ts";
import { accountOf, type Handlers } from "../../door/console-call.ts";

export function standingRoutes({
  billing,
  operators,
  config,
}: Pick<ConsoleDeps, "billing" | "operators" | "config">): Handlers<"readStanding"> {
  return {
    readStanding: async (call): Promise<AccountStanding> => {
      const accountId = accountOf(call);
      const { suspended } = await billing.getCredits({ accountId });
      if (!suspended) return { suspension: null };
      const event = await operators.lastSuspension(accountId);
      return {
        suspension: {
          since: event?.at.toISOString() ?? null,
          reason: event?.reason ?? null,
          contact: config.CONSOLE_CONTACT ?? null,
        },
      };
    },
  };
}
