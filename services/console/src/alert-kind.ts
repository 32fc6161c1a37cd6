// Kinds of alerts: those with thresholds, and the test that an admin sends.
export const CROSSING_KINDS = ["low_balance", "budget", "failure_rate"] as const;
export type CrossingKind = (typeof CROSSING_KINDS)[number];
export type AlertKind = CrossingKind | "test";
