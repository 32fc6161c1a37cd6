// The summary of the log: sums of the requests that the filters show, and a strip of bars over their time. A drag over the strip
// narrows the time to it.
import type { QueryOf, RequestSummary } from "@gr/console-api";
import { Box, Group, Text } from "@mantine/core";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type PointerEvent, useState } from "react";
import { call } from "../../api/console-client.ts";
import { countText, moneyText, secondsText } from "../../parts/figures/figure-text.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { Failure } from "../../parts/lists/page-states.tsx";
import { useAccount } from "../../session.ts";
import { type LogSearch, timesOf } from "./log-filters.tsx";

/** Interval of a live log: the sums need several reads of the log. */
const LIVE_MS = 60_000;

export function LogSummary({
  query,
  search,
  isLive,
}: {
  query: QueryOf<"summarizeRequests">;
  search: LogSearch;
  isLive: boolean;
}) {
  const { account_id: account } = useAccount();
  const { range, from, to } = search;
  const summary = useQuery({
    queryKey: ["requests", account, "summary", query, range, from, to],
    queryFn: ({ signal }) =>
      call("summarizeRequests", {
        path: { account },
        query: { ...query, ...timesOf(search, Date.now()) },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: isLive && LIVE_MS,
  });
  if (summary.error !== null) {
    return (
      <Box p="md">
        <Failure error={summary.error} retry={() => void summary.refetch()} />
      </Box>
    );
  }
  if (summary.data === undefined || summary.data.requests === 0) return null;
  return (
    <Box component="section" aria-label="Summary" className="log-summary">
      <Sums of={summary.data} />
      <Strip of={summary.data} />
    </Box>
  );
}

function Sums({ of: { requests, spend, succeeded, failed, median_latency } }: { of: RequestSummary }) {
  const ended = succeeded + failed;
  return (
    <Group gap="lg" justify="space-between">
      <Group gap="lg" className="figures">
        <Sum of="requests">{countText(requests)}</Sum>
        <Sum of="spent">{moneyText(roundedText(spend))}</Sum>
        {ended > 0 && <Sum of="succeeded">{`${percentText(succeeded, ended)} %`}</Sum>}
        {median_latency !== null && <Sum of="median latency">{secondsText(median_latency)}</Sum>}
      </Group>
      <Group gap="md" visibleFrom="sm">
        <Key color="good">Succeeded</Key>
        <Key color="bad">Failed or blocked</Key>
      </Group>
    </Group>
  );
}

function Sum({ of: name, children }: { of: string; children: string }) {
  return (
    <Text size="sm" c="dimmed">
      <Text span inherit fw={600} c="var(--mantine-color-text)">
        {children}
      </Text>{" "}
      {name}
    </Text>
  );
}

function Key({ color, children }: { color: "good" | "bad"; children: string }) {
  return (
    <Text size="xs" c="dimmed">
      <span className={`strip-key strip-${color}`} aria-hidden="true" /> {children}
    </Text>
  );
}

/** Total with two decimals, unless it is smaller than a cent. */
function roundedText(usd: string): string {
  return Number(usd) < 0.01 ? usd : Number(usd).toFixed(2);
}

/** One decimal; never 100 with a failure. */
function percentText(part: number, whole: number): string {
  const tenths = Math.floor((part / whole) * 1_000);
  return String(tenths / 10);
}

function Strip({ of: { bars, bar_ms } }: { of: RequestSummary }) {
  const filter = useFilter();
  const [drag, setDrag] = useState<{ readonly begin: number; readonly end: number }>();
  const most = Math.max(1, ...bars.map(({ succeeded, failed, other }) => succeeded + failed + other));
  const barAt = ({ clientX, currentTarget }: PointerEvent<HTMLElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    const index = Math.floor(((clientX - left) / Math.max(1, width)) * bars.length);
    return Math.min(bars.length - 1, Math.max(0, index));
  };
  const narrow = (one: number, other: number) => {
    const [first, last] = [bars[Math.min(one, other)], bars[Math.max(one, other)]];
    if (first === undefined || last === undefined || bars.length < 2) return;
    // The filter is for later requests than its begin.
    const from = new Date(Date.parse(first.at) - 1).toISOString();
    void filter(
      { range: null, from, to: new Date(Date.parse(last.at) + bar_ms).toISOString() },
      { isStep: true },
    );
  };
  const isIn = (index: number) =>
    drag !== undefined && index >= Math.min(drag.begin, drag.end) && index <= Math.max(drag.begin, drag.end);
  return (
    <>
      <Box
        className="strip"
        role="img"
        aria-label={`Requests over time: at most ${countText(most)} in a bar`}
        onPointerDown={(event) => {
          const index = barAt(event);
          setDrag({ begin: index, end: index });
        }}
        onPointerMove={(event) => drag !== undefined && setDrag({ ...drag, end: barAt(event) })}
        onPointerLeave={() => setDrag(undefined)}
        onPointerUp={(event) => {
          if (drag !== undefined) narrow(drag.begin, barAt(event));
          setDrag(undefined);
        }}
      >
        {bars.map(({ at, succeeded, failed, other }, index) => (
          <div
            key={at}
            className="strip-bar"
            data-chosen={isIn(index)}
            title={titleOf(at, succeeded, failed, other)}
          >
            <div className="strip-bad" style={{ height: heightOf(failed, most) }} />
            <div className="strip-other" style={{ height: heightOf(other, most) }} />
            <div className="strip-good" style={{ height: heightOf(succeeded, most) }} />
          </div>
        ))}
      </Box>
      <Group justify="space-between" aria-hidden="true">
        {[bars[0], bars[Math.floor(bars.length / 2)], bars.at(-1)].map(
          (bar, index) =>
            bar !== undefined && (
              <Text key={`${index} ${bar.at}`} size="xs" c="dimmed" className="figures">
                {timeText(bar.at, bar_ms)}
              </Text>
            ),
        )}
      </Group>
    </>
  );
}

/** At least a pixel, so that one failure among many requests is seen. */
function heightOf(count: number, most: number): string {
  return count === 0 ? "0" : `max(2px, ${(count / most) * 100}%)`;
}

function titleOf(at: string, succeeded: number, failed: number, other: number): string {
  const parts = [`${succeeded} succeeded`, `${failed} failed or blocked`];
  return `${new Date(at).toLocaleString()}: ${parts.join(", ")}${other === 0 ? "" : `, ${other} running or cancelled`}`;
}

/** In the own zone, like the times of the rows. */
function timeText(at: string, barMs: number): string {
  const day = { month: "short", day: "numeric" } as const;
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  return new Date(at).toLocaleString("en", barMs >= 86_400_000 ? day : { ...day, ...time });
}
