// A media run sends the request of a form. It continues while the person is on other pages; its result is the request in
// the log.
import type { QueryClient } from "@tanstack/react-query";
import { type ApiRequest, generate } from "../../../api/public-api.ts";
import { changeKept, type KeptPlace, readKept } from "../../../kept-state.ts";
import { type MediaTabName, mediaPlace } from "../drafts.ts";

export interface MediaRun {
  /** Undefined while nothing runs. */
  readonly control?: AbortController;
  /** Unix milliseconds. */
  readonly startedAt?: number;
  readonly error?: unknown;
}

export const MAY_LEAVE =
  "You can leave this page. The request runs on, and its result is in the history and in Logs.";

const NOTHING: MediaRun = {};
export const runPlace = (scope: string, tab: MediaTabName): KeptPlace<MediaRun> => ({
  key: `${scope}.${tab}.run`,
  initial: NOTHING,
});

export interface MediaRunOptions {
  readonly scope: string;
  readonly tab: MediaTabName;
  readonly account: string;
  readonly request: ApiRequest;
  readonly queries: QueryClient;
}

export async function runMedia({ scope, tab, account, request, queries }: MediaRunOptions): Promise<void> {
  const place = runPlace(scope, tab);
  if (readKept(place).control !== undefined) return;
  const control = new AbortController();
  changeKept(place, () => ({ control, startedAt: Date.now() }));
  changeKept(mediaPlace(scope, tab), (draft) => ({ ...draft, shown: null }));
  try {
    const response = await generate(account, request, control.signal);
    // The request ends before its answer is complete.
    await response.arrayBuffer();
    const id = response.headers.get("x-request-id");
    changeKept(mediaPlace(scope, tab), (draft) => ({ ...draft, shown: id }));
    changeKept(place, () => NOTHING);
  } catch (error) {
    changeKept(place, () => (control.signal.aborted ? NOTHING : { error }));
  }
  for (const key of ["requests", "home"]) void queries.invalidateQueries({ queryKey: [key, account] });
}
