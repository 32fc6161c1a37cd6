// Paged rows are a list in pages: the rows so far, and a button for more.
import { Button, Center, Stack } from "@mantine/core";
import { type QueryKey, useInfiniteQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Failure, RowsWaiting } from "./page-states.tsx";

interface Page<Row> {
  readonly data: readonly Row[];
  readonly next: string | null;
}

export interface PagedRowsProps<Row> {
  readonly queryKey: QueryKey;
  readonly read: (after: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;
  readonly empty: ReactNode;
  readonly children: (rows: readonly Row[]) => ReactNode;
  /** Milliseconds to the next refresh, by the shown rows; no refresh while the page is hidden. */
  readonly again?: (rows: readonly Row[]) => number;
}

export function PagedRows<Row>({ queryKey, read, empty, children, again }: PagedRowsProps<Row>) {
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery({
      queryKey,
      queryFn: ({ pageParam, signal }) => read(pageParam, signal),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next ?? undefined,
      // All pages are refreshed one after the other: the more they are, the less often.
      refetchInterval: ({ state: { data: shown } }) =>
        again !== undefined && shown !== undefined && again(rowsOf(shown.pages)) * shown.pages.length,
    });
  if (isPending) return <RowsWaiting />;
  if (data === undefined) return <Failure error={error} retry={() => void refetch()} />;
  const rows = rowsOf(data.pages);
  if (rows.length === 0) return empty;
  return (
    <Stack>
      {children(rows)}
      {error !== null && <Failure error={error} retry={() => void fetchNextPage()} />}
      {hasNextPage && (
        <Center>
          <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
            Show more
          </Button>
        </Center>
      )}
    </Stack>
  );
}

function rowsOf<Row>(pages: readonly Page<Row>[]): readonly Row[] {
  return pages.flatMap((page) => page.data);
}
