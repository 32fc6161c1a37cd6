// Quotes are the router's own prices of the requests in a form, before they are sent. A request is quoted after a moment
// without input.
import { useDebouncedValue } from "@mantine/hooks";
import { type UseQueryResult, useQueries, useQuery } from "@tanstack/react-query";
import { type ApiRequest, type Quote, quoteOf } from "../../api/public-api.ts";
import { decimalText, requestMoneyText, sumUsd } from "../../parts/figures/figure-text.ts";

const LEFT_ALONE_MS = 600;

function quoteQuery(account: string, request: ApiRequest, isReady: boolean) {
  const files = request.files.map(({ field, name, content: { size } }) => [field, name, size]);
  return {
    queryKey: ["quote", account, request.path, request.body, files],
    queryFn: ({ signal }: { signal: AbortSignal }) => quoteOf(account, request, signal),
    enabled: isReady,
    retry: false,
    staleTime: 60_000,
  };
}

/** @param isReady false: the form is not complete, and nothing is quoted */
export function useQuote(account: string, request: ApiRequest, isReady: boolean): UseQueryResult<Quote> {
  const text = JSON.stringify([request.path, request.body, request.files.map(({ name }) => name)]);
  const [settled] = useDebouncedValue(text, LEFT_ALONE_MS);
  const query = quoteQuery(account, request, isReady && settled === text);
  return useQuery({
    ...query,
    // While a person types, the price of the words before stays; that of other parameters does not.
    placeholderData: (
      before: Quote | undefined,
      { queryKey = [] }: { queryKey?: readonly unknown[] } = {},
    ) => (isReady && wordless(queryKey) === wordless(query.queryKey) ? before : undefined),
  });
}

/** Returns the key of a quote without the words of its request. */
function wordless([, account, path, body, files]: readonly unknown[]): string {
  return JSON.stringify([account, path, { ...(body as object), prompt: "", messages: "" }, files]);
}

/** Quotes of several requests, in their order. */
export function useQuotes(account: string, requests: readonly ApiRequest[], isReady: boolean) {
  const text = JSON.stringify(requests.map(({ body }) => body));
  const [settled] = useDebouncedValue(text, LEFT_ALONE_MS);
  return useQueries({
    queries: requests.map((request) => quoteQuery(account, request, isReady && settled === text)),
  });
}

/** "$0.0100", or "up to $0.0241" where the price is a bound. */
export function quoteText(quotes: readonly Quote[]): string {
  const sum = requestMoneyText(sumUsd(quotes.map(({ cost }) => decimalText(cost))));
  return quotes.every(({ is_exact }) => is_exact) ? sum : `up to ${sum}`;
}
