// Shares of a budget, for bars: no money is computed with them.

/** Percent of a budget from which its bar is amber. */
export const NEARLY_USED = 80;

/** From 0 to 100. A budget of zero is used up. */
export function shareOf(spent: string, budget: string): number {
  return Number(budget) === 0 ? 100 : Math.min(100, (Number(spent) / Number(budget)) * 100);
}

/** @param share percent */
export function barColor(share: number): "red" | "yellow" | "brand" {
  return share >= 100 ? "red" : share >= NEARLY_USED ? "yellow" : "brand";
}
