// Figures of a request in lists: its cost and its latency.
import type { RequestRecord } from "@gr/console-api";
import { Table, Text } from "@mantine/core";
import { decimalText, requestMoneyText, secondsText } from "../figures/figure-text.ts";

/** The charge of a request with four decimals, or words in place of a charge of zero for a failed one. */
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

/** The cell of a table with the time of a request, from its arrival to its end. */
export function LatencyCell({ of: { latency } }: { of: RequestRecord }) {
  return (
    <Table.Td ta="right" className="figures" c="dimmed">
      {latency === null ? "–" : secondsText(latency)}
    </Table.Td>
  );
}
