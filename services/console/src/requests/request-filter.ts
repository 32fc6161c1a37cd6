// Request filters select requests of an account in every source.
import type { QueryOf, RequestRecord } from "@gr/console-api";
import { DAY_MS, startOfDay } from "./days.ts";
import type { Entry } from "./merged-page.ts";
import { spenderFilter } from "./spenders.ts";

export interface LoggedRequest extends Entry {
  readonly record: RequestRecord;
}

type Query = QueryOf<"listRequests">;

export interface RequestFilter extends Pick<Query, "kind" | "model" | "status"> {
  readonly accountId: string;
  readonly spenderId?: string;
  /** Unix milliseconds: later than this, and earlier than that. */
  readonly later?: number;
  readonly earlier?: number;
}

/** @throws ServiceError invalid_value */
export function requestFilter(accountId: string, query: Query): RequestFilter {
  const { kind, model, status, key_id: keyId, from, to } = query;
  return {
    ...{ accountId, kind, model, status },
    ...spenderFilter(keyId, accountId),
    ...(from === undefined ? {} : { later: startOfDay("from", from) - 1 }),
    ...(to === undefined ? {} : { earlier: startOfDay("to", to) + DAY_MS }),
  };
}

/** Returns the time range for a source: the filter's range, cut at the begin of its first page. */
export function timesOf({ later, earlier }: RequestFilter, until: number | undefined) {
  const ends = [earlier, until === undefined ? undefined : until + 1].filter((end) => end !== undefined);
  return { later, earlier: ends.length === 0 ? undefined : Math.min(...ends) };
}
