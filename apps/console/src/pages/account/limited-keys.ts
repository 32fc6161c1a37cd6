// Limited keys are the keys of an account with a budget, fullest first.
import type { KeyRecord } from "@gr/console-api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { shareOf } from "../../parts/figures/budget-share.ts";
import { useAccount } from "../../session.ts";

const USUAL_MS = 30_000;

export function useLimitedKeys() {
  const { account_id: account } = useAccount();
  const query = { kind: "normal" } as const;
  return useQuery({
    queryKey: ["keys", account, "budgets"],
    queryFn: ({ signal }) => call("listKeys", { path: { account }, query, signal }),
    refetchInterval: USUAL_MS,
  });
}

export function limitedKeys(keys: readonly KeyRecord[]): KeyRecord[] {
  return keys
    .filter(({ spend_limit: limit, is_active }) => limit !== null && is_active)
    .toSorted((one, other) => usedPercent(other) - usedPercent(one));
}

/** From 0 to 100, for a bar; no money is computed. */
export function usedPercent({ spend_limit: limit, period_spend: spent }: KeyRecord): number {
  return Math.floor(shareOf(spent, limit ?? "0"));
}
