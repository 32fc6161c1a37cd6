// Queries cache the server's data: fresh for some seconds, refreshed when the window gets the focus, and dropped when
// the session ends.
import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { ApiError, NO_ANSWER } from "./api/api-error.ts";

const FRESH_MS = 10_000;
const MOST_TRIES = 3;

export const SESSION_KEY = ["session"] as const;
export const PASSKEYS_KEY = ["passkeys"] as const;

export function createQueries(): QueryClient {
  const signedOut = (error: unknown) => {
    if (!(error instanceof ApiError) || error.code !== "not_signed_in") return;
    // The guard of the pages notices the ended session and opens the sign-in page.
    void queries.invalidateQueries({ queryKey: SESSION_KEY });
  };
  const queries: QueryClient = new QueryClient({
    queryCache: new QueryCache({ onError: signedOut }),
    mutationCache: new MutationCache({ onError: signedOut }),
    defaultOptions: {
      queries: { staleTime: FRESH_MS, retry: (tries, error) => tries < MOST_TRIES && mayPass(error) },
    },
  });
  return queries;
}

/** Returns true for temporary errors. */
function mayPass(error: unknown): boolean {
  return error instanceof ApiError && [NO_ANSWER, 502, 503, 504].includes(error.status);
}
