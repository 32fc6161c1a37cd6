// Kinds of alerts: those with thresholds, those of automatic top-ups, and the test that an admin sends.
export const CROSSING_KINDS = ["low_balance", "budget", "failure_rate"] as const;
export type CrossingKind = (typeof CROSSING_KINDS)[number];
export const TOP_UP_KINDS = ["top_up_failed", "top_up_limit"] as const;
export type TopUpKind = (typeof TOP_UP_KINDS)[number];
export type AlertKind = CrossingKind | TopUpKind | "test";
