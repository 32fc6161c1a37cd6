// What was asked for once: waiting, failed, or there. What was there before stays when asking again fails.
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
