// Loaded shows the states of a query: waiting, failed, or done. Earlier data stays visible after a failed refresh.
// The first drawing of data may take long, and React yields to input and painting between its parts.
import type { UseQueryResult } from "@tanstack/react-query";
import { type ReactNode, useDeferredValue } from "react";
import { Failure, RowsWaiting } from "./page-states.tsx";

export interface LoadedProps<Data> {
  readonly of: Pick<UseQueryResult<Data>, "data" | "error" | "refetch">;
  readonly children: (data: Data) => ReactNode;
}

export function Loaded<Data>({ of: { data, error, refetch }, children }: LoadedProps<Data>) {
  const isDrawn = useDeferredValue(data !== undefined);
  return (
    <>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined || !isDrawn ? error === null && <RowsWaiting /> : children(data)}
    </>
  );
}
