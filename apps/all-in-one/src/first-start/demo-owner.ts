// The demo owner is the person of the demo account, with a one-time sign-in link. Only a terminal gets the link; if
// output is stored, only the operator's CLI can create one.
import { ConsoleOperatorService } from "@gr/proto/console";
import type { RunningProcess } from "@gr/runtime";

/** Address without mail: the domain can have no mail server. */
export const DEMO_EMAIL = "demo@router.localhost";

/** Ensures the owner of the demo account. @returns a link that signs in; undefined without a terminal */
export async function ensureDemoOwner(
  accountId: string,
  dial: RunningProcess["dial"],
  { isTerminal }: { readonly isTerminal: boolean },
): Promise<string | undefined> {
  const console = dial("console", ConsoleOperatorService);
  await console.addOwner({ accountId, accountName: "Demo", email: DEMO_EMAIL, name: "Demo" });
  return isTerminal ? (await console.createSignInLink({ email: DEMO_EMAIL })).url : undefined;
}
