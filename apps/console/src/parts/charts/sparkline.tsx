// Sparkline draws values over time without axes. The same figures are in a chart or a table of the page.

const WIDTH = 100;
const HEIGHT = 28;
/** Room of the line at the upper edge. */
const MARGIN = 1;

export interface SparklineProps {
  /** Oldest first, at least zero. */
  readonly values: readonly number[];
  /** Place of its colour among those of charts. */
  readonly rank: number;
}

/** The room of a sparkline, so that its arrival moves nothing. */
export function SparklinePlace() {
  return <div className="sparkline" />;
}

export function Sparkline({ values, rank }: SparklineProps) {
  const most = Math.max(...values);
  if (values.length < 2 || most <= 0) return <SparklinePlace />;
  const step = WIDTH / (values.length - 1);
  const points = values
    .map((value, index) => `${index * step},${HEIGHT - (value / most) * (HEIGHT - MARGIN)}`)
    .join(" ");
  const color = `var(--rank-${rank})`;
  return (
    <svg
      className="sparkline"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <polygon points={`0,${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} fill={color} opacity={0.12} />
      <polyline
        points={points}
        fill="none"
        stroke={color}
        strokeWidth={1.5}
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}
