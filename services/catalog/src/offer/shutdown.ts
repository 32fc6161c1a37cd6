// When a model is on sale: until the day of its shutdown begins, in UTC. The one place that compares these dates.
import type { Clock } from "@gr/runtime";

/** The day that it is now, in UTC: 2026-11-20. */
export function isoDay(clock: Clock): string {
  return new Date(clock.now()).toISOString().slice(0, 10);
}

/** @param shutdownDate ISO date; null or empty = none announced */
export function isOnSale(shutdownDate: string | null, today: string): boolean {
  return shutdownDate === null || shutdownDate === "" || today < shutdownDate;
}
