// Request cost is the charge of a request with four decimals, or words in place of a charge of zero for a failed one.
import type { RequestRecord } from "@gr/console-api";
import { Text } from "@mantine/core";
import { decimalText, requestMoneyText } from "../figures/figure-text.ts";

export function RequestCost({ of: { cost, status } }: { of: Pick<RequestRecord, "cost" | "status"> }) {
  if (cost === null) return "–";
  if (status === "succeeded" || cost > 0) {
    return (
      <Text span inherit className="figures">
        {requestMoneyText(decimalText(cost))}
      </Text>
    );
  }
  return (
    <Text span inherit c="dimmed">
      Not charged
    </Text>
  );
}
