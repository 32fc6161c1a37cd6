// Loaded shows the states of a query: waiting, failed, or done. Earlier data stays visible after a failed refresh.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Failure, RowsWaiting } from "./page-states.tsx";

export interface LoadedProps<Data> {
  readonly of: Pick<UseQueryResult<Data>, "data" | "error" | "refetch">;
  readonly children: (data: Data) => ReactNode;
}

export function Loaded<Data>({ of: { data, error, refetch }, children }: LoadedProps<Data>) {
  return (
    <>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined ? error === null && <RowsWaiting /> : children(data)}
    </>
  );
}
