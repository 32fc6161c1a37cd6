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

/** Local time; UTC when pointed at. */
export function Time({ at }: { at: string }) {
  const date = new Date(at);
  const local = date.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  return (
    <Tooltip label={`${date.toISOString().replace("T", " ").slice(0, 19)} UTC`}>
      <Text span inherit component="time" dateTime={at} className="figures">
        {local}
      </Text>
    </Tooltip>
  );
}
