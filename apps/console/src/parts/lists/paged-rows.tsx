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
  /** Milliseconds to the next refresh, by the shown rows; false = never. No refresh while the page is hidden. */
  readonly again?: (rows: readonly Row[]) => number | false;
  /** Text of the button for the next page. */
  readonly more?: string;
}

export function PagedRows<Row>(props: PagedRowsProps<Row>) {
  const { queryKey, read, empty, children, again, more = "Show more" } = props;
  const { data, error, isPending, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } =
    useInfiniteQuery({
      queryKey,
      queryFn: ({ pageParam, signal }) => read(pageParam, signal),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ next }) => next ?? undefined,
      // All pages are refreshed one after the other: the more they are, the less often.
      refetchInterval: ({ state: { data: shown } }) => {
        const pause = shown !== undefined && again?.(rowsOf(shown.pages));
        return pause ? pause * shown.pages.length : false;
      },
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
            {more}
          </Button>
        </Center>
      )}
    </Stack>
  );
}

function rowsOf<Row>(pages: readonly Page<Row>[]): readonly Row[] {
  return pages.flatMap((page) => page.data);
}
