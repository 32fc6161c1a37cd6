// Request status is the state of a request, as one coloured word.
import type { RequestRecord } from "@gr/console-api";
import { Badge } from "@mantine/core";

const COLORS = {
  running: "blue",
  succeeded: "green",
  failed: "red",
  blocked: "orange",
  cancelled: "gray",
} as const;

export const REQUEST_STATUSES = Object.keys(COLORS);

export function RequestStatus({ of: request }: { of: RequestRecord }) {
  const progress = progressOf(request);
  return (
    <Badge
      variant="light"
      color={COLORS[request.status]}
      leftSection={
        <span
          className="status-dot"
          style={{ background: `var(--mantine-color-${COLORS[request.status]}-6)` }}
          aria-hidden
        />
      }
    >
      {request.status.slice(0, 1).toUpperCase() + request.status.slice(1)}
      {progress !== undefined && ` ${progress} %`}
    </Badge>
  );
}

/** Percent, while the request runs and if its provider reports it. */
export function progressOf(request: RequestRecord): number | undefined {
  if (request.status !== "running") return undefined;
  return request.progress ?? undefined;
}
