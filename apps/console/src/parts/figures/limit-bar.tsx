// The limit bar shows the spent part of a limit, of a key or of a budget that several keys share.
import { Progress, Text } from "@mantine/core";
import { barColor, shareOf } from "./budget-share.ts";
import { moneyText } from "./figure-text.ts";
import { Money } from "./figures.tsx";

export interface Limit {
  readonly spend_limit: string | null;
  readonly spend_limit_period: string | null;
  readonly period_spend: string;
}

/** @param label subject of the bar for screen readers */
export function LimitBar({ of: limit, label }: { of: Limit; label: string }) {
  const { spend_limit: most, spend_limit_period: each, period_spend: spent } = limit;
  const period = each === null ? "total" : `each ${each}`;
  return (
    <>
      <Text size="sm">
        <Money usd={spent} />
        {most === null ? " · no limit" : ` of ${moneyText(most)} ${period}`}
      </Text>
      {most !== null && (
        <Progress value={shareOf(spent, most)} color={barColor(shareOf(spent, most))} aria-label={label} />
      )}
    </>
  );
}
