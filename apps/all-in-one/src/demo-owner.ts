// The person who owns the demo account, and a link that signs in as this person once. The link is made for a terminal only:
// where output is kept, nobody but the operator's CLI gets one.
import { ConsoleOperatorService } from "@gr/proto/console";
import type { RunningProcess } from "@gr/runtime";
import type { Screen } from "./banner.ts";

/** It gets no mail: the domain is one that can have no mail server. */
export const DEMO_EMAIL = "demo@router.localhost";

/** @returns undefined where nobody should see a link. */
export async function ensureDemoOwner(
  accountId: string,
  dial: RunningProcess["dial"],
  { isTerminal }: Pick<Screen, "isTerminal">,
): Promise<string | undefined> {
  const console = dial("console", ConsoleOperatorService);
  await console.addOwner({ accountId, accountName: "Demo", email: DEMO_EMAIL, name: "Demo" });
  return isTerminal ? (await console.createSignInLink({ email: DEMO_EMAIL })).url : undefined;
}
