// Money and times as people read them.
import { Text, Tooltip } from "@mantine/core";
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

/** Local time; UTC when pointed at. @param isShort without the year, and of today without the date */
export function Time({ at, isShort = false }: { at: string; isShort?: boolean }) {
  const date = new Date(at);
  const local = isShort
    ? shortTimeText(date)
    : date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return (
    <Tooltip label={`${date.toISOString().replace("T", " ").slice(0, 19)} UTC`}>
      <Text span inherit component="time" dateTime={at} className="figures">
        {local}
      </Text>
    </Tooltip>
  );
}

function shortTimeText(date: Date): string {
  const time = { hour: "2-digit", minute: "2-digit" } as const;
  if (date.toDateString() === new Date().toDateString()) return date.toLocaleTimeString(undefined, time);
  return date.toLocaleString(undefined, { month: "short", day: "numeric", ...time });
}
