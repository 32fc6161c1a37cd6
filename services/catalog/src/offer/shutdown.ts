// The sale of a model ends with the start of its shutdown day, in UTC. Only this module compares these dates.
import type { Clock } from "@gr/runtime";

/** Returns today's date in UTC: 2026-11-20. */
export function isoDay(clock: Clock): string {
  return new Date(clock.now()).toISOString().slice(0, 10);
}

/** @param shutdownDate ISO date; null or empty = none announced */
export function isOnSale(shutdownDate: string | null, today: string): boolean {
  return shutdownDate === null || shutdownDate === "" || today < shutdownDate;
}
