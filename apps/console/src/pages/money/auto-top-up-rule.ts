// The rule of automatic top-ups: its change, and the name of its card.
import type { AutoTopUpRecord, BodyOf } from "@gr/console-api";
import { useQueryClient } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { useAccount } from "../../session.ts";

export type SavedCardRecord = NonNullable<AutoTopUpRecord["card"]>;

export function useRuleChange(after?: () => void, showAt?: Parameters<typeof useAct>[0]["showAt"]) {
  const { account_id: account } = useAccount();
  const queries = useQueryClient();
  return useAct({
    send: (body: BodyOf<"changeAutoTopUp">) => call("changeAutoTopUp", { path: { account }, body }),
    changes: [["audit", account]],
    after: (answer) => {
      queries.setQueryData(["auto top-up", account], answer);
      after?.();
    },
    ...(showAt && { showAt }),
  });
}

export function nameOf({ brand, last4 }: SavedCardRecord): string {
  return `${brand.slice(0, 1).toUpperCase()}${brand.slice(1)} ending ${last4}`;
}
