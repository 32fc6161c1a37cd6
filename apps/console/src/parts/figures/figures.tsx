// Money and times as people read them.
import { Text } from "@mantine/core";
import { moneyText, wholeCentsText } from "./figure-text.ts";

export function Money({ usd, strong }: { usd: string; strong?: boolean }) {
  return (
    <Text span inherit className="figures" {...(strong && { fw: 600 })}>
      {moneyText(usd)}
    </Text>
  );
}

/** In whole cents; exact when pointed at. */
export function Balance({ usd, strong }: { usd: string; strong?: boolean }) {
  return (
    <Text span inherit className="figures" title={moneyText(usd)} {...(strong && { fw: 600 })}>
      {wholeCentsText(usd)}
    </Text>
  );
}

export interface TimeProps {
  readonly at: string;
  /** Without the year, and of today without the date. */
  readonly isShort?: boolean;
  /** Seconds are shown, of a short time only today. */
  readonly hasSeconds?: boolean;
}

/** Local time; UTC when pointed at. */
export function Time({ at, isShort = false, hasSeconds = false }: TimeProps) {
  const date = new Date(at);
  const local = isShort
    ? shortTimeText(date, hasSeconds)
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: hasSeconds ? "medium" : "short" });
  return (
    <Text
      span
      inherit
      component="time"
      dateTime={at}
      className="figures"
      title={`${date.toISOString().replace("T", " ").slice(0, 19)} UTC`}
    >
      {local}
    </Text>
  );
}

function shortTimeText(date: Date, hasSeconds: boolean): string {
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  if (date.toDateString() === new Date().toDateString()) {
    const seconds = hasSeconds ? ({ second: "2-digit", hourCycle: "h23" } as const) : {};
    return date.toLocaleTimeString(undefined, { ...time, ...seconds });
  }
  return date.toLocaleString(undefined, { month: "short", day: "numeric", ...time });
}
