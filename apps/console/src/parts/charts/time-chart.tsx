// TimeChart draws values over time, as stacked bars or as lines. Each column leads to its requests; the arrow keys move between the
// columns. The same figures are in a table beside it.
import { useMediaQuery } from "@mantine/hooks";
import { Link, useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, type MouseEvent, type ReactNode, useRef } from "react";
import { useAccount } from "../../session.ts";
import { labelledColumns, ticksOf } from "./axis.ts";

/** Colours: one for each of the largest groups, the last one for all others. */
export const MOST_SERIES = 6;
const PHONE = "(max-width: 48em)";
const MANY_COLUMNS = 60;
/** Part of the axis in which a centred label would be beyond its end. */
const EDGE = 0.03;

export interface Series {
  readonly name: string;
  /** Place of its colour. */
  readonly rank: number;
}

export interface Column {
  /** ISO time. */
  readonly begin: string;
  /** Time of the column, in words. */
  readonly title: string;
  /** Value of each series; undefined without any. */
  readonly values: readonly (number | undefined)[];
  /** The column has not ended. */
  readonly isCurrent: boolean;
}

export interface TimeChartProps {
  /** Name of the chart, for readers of the screen. */
  readonly label: string;
  readonly as?: "bars" | "lines";
  /** Height of the plot, in pixels. */
  readonly height?: number;
  /** Largest first. */
  readonly series: readonly Series[];
  /** Oldest first. */
  readonly columns: readonly Column[];
  readonly areHours?: boolean;
  /** Text below a column. */
  readonly timeText: (begin: string) => string;
  /** @param whole the sum of the column, with the number of decimals of all its parts */
  readonly valueText: (value: number, whole?: number) => string;
  /** @param decimals of all values of the axis */
  readonly tickText?: (value: number, decimals: number) => string;
  /** Values are counts. */
  readonly isWhole?: boolean;
  /** End of the axis without a value. */
  readonly least?: number;
  readonly hasLegend?: boolean;
  /** Filter of the log for a column, or for a part of it; absent: columns lead nowhere. */
  readonly logOf?: (column: number, series: number | undefined) => Record<string, string>;
}

export function TimeChart(props: TimeChartProps) {
  const { label, as = "bars", height = 250, series, columns, isWhole = false, hasLegend = true } = props;
  const { least = 4, areHours = false } = props;
  const { timeText, valueText, tickText = (value) => valueText(value) } = props;
  const isPhone = useMediaQuery(PHONE) === true;
  const most = columns.map(({ values }) => (as === "bars" ? totalOf(values) : largestOf(values)));
  const ticks = ticksOf(Math.max(0, ...most) || least, isWhole);
  const top = ticks.at(-1) ?? 1;
  const decimals = Math.max(...ticks.map((tick) => `${tick}`.split(".")[1]?.length ?? 0));
  const begins = columns.map(({ begin }) => begin);
  const labelled = labelledColumns(begins, isPhone ? 4 : 8, areHours);
  return (
    <div className="time-chart">
      <div className="chart-values" style={{ height }} aria-hidden="true">
        {ticks.map((tick) => (
          <span key={tick} style={{ bottom: `${(tick / top) * 100}%` }}>
            {tickText(tick, decimals)}
          </span>
        ))}
      </div>
      <div className="chart-plot" style={{ height }}>
        {ticks.map((tick) => (
          <div key={tick} className="chart-line" style={{ bottom: `${(tick / top) * 100}%` }} />
        ))}
        {as === "lines" && <Lines series={series} columns={columns} top={top} />}
        <Columns {...props} label={label} as={as} top={top} valueText={valueText} />
      </div>
      <div className="chart-times" aria-hidden="true">
        {labelled.map((index) => {
          const place = (index + 0.5) / columns.length;
          const edge = place < EDGE ? "start" : place > 1 - EDGE ? "end" : undefined;
          return (
            <span key={index} style={{ left: `${place * 100}%` }} {...(edge && { "data-edge": edge })}>
              {timeText(columns[index]?.begin ?? "")}
            </span>
          );
        })}
      </div>
      {hasLegend && series.length > 0 && (
        <ul className="chart-legend" aria-label={`Colours of: ${label}`}>
          {series.map(({ name, rank }) => (
            <li key={name}>
              <RankDot rank={rank} /> {name}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** The colour of a rank. */
export function RankDot({ rank }: { rank: number }) {
  return <i className="rank-dot" style={{ background: colorOf(rank) }} aria-hidden="true" />;
}

export function colorOf(rank: number): string {
  return `var(--rank-${Math.min(rank, MOST_SERIES)})`;
}

function totalOf(values: Column["values"]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

function largestOf(values: Column["values"]): number {
  return Math.max(0, ...values.map((value) => value ?? 0));
}

type ColumnsProps = Omit<TimeChartProps, "as"> & { readonly as: "bars" | "lines"; readonly top: number };

function Columns({ label, as, series, columns, top, valueText, logOf }: ColumnsProps) {
  const { account_id: account } = useAccount();
  const navigate = useNavigate();
  const list = useRef<HTMLUListElement>(null);
  const move = (event: KeyboardEvent, index: number) => {
    const next = nextOf(event.key, index, columns.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    list.current?.querySelectorAll<HTMLElement>(".chart-bar")[next]?.focus();
  };
  const openPart = (event: MouseEvent, column: number) => {
    const part = event.target instanceof HTMLElement ? event.target.dataset["series"] : undefined;
    const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    if (part === undefined || logOf === undefined || !isPlain) return;
    event.preventDefault();
    void navigate({
      to: "/accounts/$account/logs",
      params: { account },
      search: logOf(column, Number(part)),
    });
  };
  return (
    <ul
      className="chart-columns"
      ref={list}
      aria-label={label}
      style={{ "--column-gap": columns.length > MANY_COLUMNS ? "1px" : "3px" } as object}
    >
      {columns.map((column, index) => {
        const { title, values, isCurrent } = column;
        const sum = as === "bars" ? valueText(totalOf(values)) : lineText(series, values, valueText);
        const isEmpty = values.every((value) => !value);
        const look = {
          className: "chart-bar",
          "aria-label": `${title}${isCurrent ? ", so far" : ""}: ${isEmpty ? "nothing" : sum}`,
          tabIndex: index === columns.length - 1 ? 0 : -1,
          onKeyDown: (event: KeyboardEvent) => move(event, index),
          ...(isCurrent && { "data-current": true }),
        };
        const parts = as === "bars" && <Parts values={values} top={top} series={series} />;
        return (
          <li className="chart-column" key={title}>
            {logOf === undefined || isEmpty ? (
              <div role="img" {...look}>
                {parts}
              </div>
            ) : (
              <Link
                to="/accounts/$account/logs"
                params={{ account }}
                search={logOf(index, undefined)}
                preload={false}
                onClick={(event) => openPart(event, index)}
                {...look}
              >
                {parts}
              </Link>
            )}
            {!isEmpty && (
              <Tip
                column={column}
                series={series}
                valueText={valueText}
                isSum={as === "bars"}
                isLate={index >= columns.length / 2}
              />
            )}
          </li>
        );
      })}
    </ul>
  );
}

function nextOf(key: string, index: number, last: number): number | undefined {
  switch (key) {
    case "ArrowLeft":
      return Math.max(0, index - 1);
    case "ArrowRight":
      return Math.min(last, index + 1);
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}

function lineText(
  series: readonly Series[],
  values: Column["values"],
  valueText: (value: number) => string,
): string {
  return series
    .map(({ name }, at) => `${name} ${values[at] === undefined ? "unknown" : valueText(values[at])}`)
    .join(", ");
}

/** The largest part is on top. */
function Parts({
  values,
  top,
  series,
}: {
  values: Column["values"];
  top: number;
  series: readonly Series[];
}): ReactNode {
  return values
    .map((value, at) => {
      const { name = "", rank = 0 } = series[at] ?? {};
      if (!value) return null;
      const look = { background: colorOf(rank), height: `calc(${(value / top) * 100}% - 1px)` };
      return <i key={name} data-series={at} style={look} />;
    })
    .toReversed();
}

interface TipProps {
  readonly column: Column;
  readonly series: readonly Series[];
  readonly valueText: TimeChartProps["valueText"];
  readonly isSum: boolean;
  /** The tip is at the left. */
  readonly isLate: boolean;
}

function Tip({ column: { title, values, isCurrent }, series, valueText, isSum, isLate }: TipProps) {
  return (
    <div className="chart-tip" aria-hidden="true" {...(isLate && { "data-side": "start" })}>
      <div>
        <span>
          {title}
          {isCurrent && " (so far)"}
        </span>
        {isSum && <b>{valueText(totalOf(values))}</b>}
      </div>
      {series.map(({ name, rank }, at) => {
        const value = values[at];
        return (
          value !== undefined &&
          value > 0 && (
            <div key={name}>
              <RankDot rank={rank} />
              <span>{name}</span>
              <b>{valueText(value, isSum ? totalOf(values) : undefined)}</b>
            </div>
          )
        );
      })}
    </div>
  );
}

function Lines({
  series,
  columns,
  top,
}: {
  series: readonly Series[];
  columns: readonly Column[];
  top: number;
}) {
  return (
    <svg
      className="chart-lines"
      viewBox={`0 0 ${columns.length} 100`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {series.map(({ name, rank }, at) => {
        const { line, points } = pathOf(
          columns.map(({ values }) => values[at]),
          top,
        );
        return (
          <g key={name} stroke={colorOf(rank)}>
            <path d={line} />
            <path d={points} className="lone-point" />
          </g>
        );
      })}
    </svg>
  );
}

/** A line has gaps where no value is; a value without neighbours is a point. */
function pathOf(values: readonly (number | undefined)[], top: number): { line: string; points: string } {
  let [line, points] = ["", ""];
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    const place = `${index + 0.5} ${100 - (value / top) * 100}`;
    const hasBefore = values[index - 1] !== undefined;
    line += `${hasBefore ? "L" : "M"}${place}`;
    if (!hasBefore && values[index + 1] === undefined) points += `M${place}h0`;
  }
  return { line, points };
}
