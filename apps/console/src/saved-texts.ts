// Saved prompts and answers: the query of their use, and their retention in words.
import type { AnswerOf } from "@gr/console-api";
import { useQuery } from "@tanstack/react-query";
import { call } from "./api/console-client.ts";

type Use = AnswerOf<"readSavedTextUse">;

const MEGABYTE = 1024 * 1024;

export function useSavedTextUse(account: string) {
  return useQuery({
    queryKey: ["saved-texts", account],
    queryFn: ({ signal }) => call("readSavedTextUse", { path: { account }, signal }),
  });
}

/** "Each is deleted 30 days after its request." */
export function retentionText({ days }: Use): string {
  if (days === 0) return "This router saves no prompts and no answers of this account.";
  return `Each is deleted ${days === 1 ? "1 day" : `${days} days`} after its request, or when you delete it.`;
}

/** "12 requests, 1.4 MB of 256 MB". A used room is never 0. */
export function amountText({ entries, bytes, most_bytes: most }: Use): string {
  const tenths = bytes === 0 ? 0 : Math.max(1, Math.round((bytes * 10) / MEGABYTE));
  const size = (tenths / 10).toLocaleString("en-US");
  const requests = `${entries.toLocaleString("en-US")} ${entries === 1 ? "request" : "requests"}`;
  return `${requests}, ${size} MB of ${Math.round(most / MEGABYTE).toLocaleString("en-US")} MB`;
}
