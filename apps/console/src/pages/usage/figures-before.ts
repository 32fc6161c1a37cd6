// Totals of the same time before a range, to compare with.
import type { ActivityAnswer, ActivityFigures, QueryOf } from "@gr/console-api";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { useAccount } from "../../session.ts";
import { rangeBefore } from "./usage-range.ts";

/** @returns undefined while they are unknown */
export function useFiguresBefore(
  activity: Pick<ActivityAnswer, "from" | "to"> | undefined,
  filters: Readonly<Record<string, string | undefined>> = {},
): ActivityFigures | undefined {
  const { account_id: account } = useAccount();
  const range = activity && rangeBefore(activity.from, activity.to);
  const query = { ...range, ...filters, group_by: "kind" } as QueryOf<"readActivity">;
  const { data } = useQuery({
    queryKey: ["activity", account, query],
    queryFn: ({ signal }) => call("readActivity", { path: { account }, query, signal }),
    enabled: range !== undefined,
  });
  return data?.total;
}
