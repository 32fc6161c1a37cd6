// Quantiles of durations that are known as counts in half octaves from 100 ms.

const SHORTEST_MS = 100;

/**
 * @param counts by place, in order of the places. @param percent from 1 to 99
 * @returns milliseconds, the middle of the count's bounds; 0 without a count
 */
export function quantileOf(
  counts: readonly (readonly [place: number, count: bigint])[],
  percent: bigint,
): number {
  const all = counts.reduce((sum, [, count]) => sum + count, 0n);
  if (all === 0n) return 0;
  let below = 0n;
  for (const [place, count] of counts) {
    below += count;
    if (below * 100n >= all * percent) return middleOf(place);
  }
  return 0;
}

function middleOf(place: number): number {
  return Math.round(place === 0 ? SHORTEST_MS : SHORTEST_MS * 2 ** ((place - 0.5) / 2));
}
