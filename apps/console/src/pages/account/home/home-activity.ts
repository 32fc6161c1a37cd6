// Home activity is the activity of the chosen range of Home, by model. The tiles and the chart show the same answer.
import type { ActivityAnswer, QueryOf } from "@gr/console-api";
import { keepPreviousData, queryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { call } from "../../../api/console-client.ts";
import { useAccount } from "../../../session.ts";
import { PRESETS, type Preset, rangeOf } from "../../usage/usage-range.ts";

const USUAL_MS = 30_000;
const MOST_DAYS = 30;

/** Presets of Home, shortest first. */
export const HOME_PRESETS = PRESETS.filter(({ days }) => days <= MOST_DAYS);

/** @returns the range of the address, else the longest preset */
export function useHomePreset(): Preset | undefined {
  const { range }: { range?: string } = useSearch({ strict: false });
  return HOME_PRESETS.find(({ value }) => value === range) ?? HOME_PRESETS.at(-1);
}

/** Activity of a range until now, by model. */
export function homeActivityQuery(account: string, preset: Preset | undefined) {
  const { from, bucket } = rangeOf({ ...(preset && { range: preset.value }) }, Date.now());
  const query = { from, bucket, group_by: "model" } as QueryOf<"readActivity">;
  return queryOptions({
    queryKey: ["activity", account, query],
    queryFn: ({ signal }) => call("readActivity", { path: { account }, query, signal }),
  });
}

export function useHomeActivity(): UseQueryResult<ActivityAnswer> {
  const { account_id: account } = useAccount();
  const preset = useHomePreset();
  return useQuery({
    ...homeActivityQuery(account, preset),
    placeholderData: keepPreviousData,
    refetchInterval: USUAL_MS,
  });
}
