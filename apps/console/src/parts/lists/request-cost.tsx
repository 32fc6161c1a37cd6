// Request cost is the charge of a request, or words in place of a charge of zero for a failed one.
import type { RequestRecord } from "@gr/console-api";
import { Text } from "@mantine/core";
import { Money } from "../figures/figures.tsx";

export function RequestCost({ of: { cost, status } }: { of: Pick<RequestRecord, "cost" | "status"> }) {
  if (cost === null) return "–";
  if (status === "succeeded" || cost > 0) return <Money usd={String(cost)} />;
  return (
    <Text span inherit c="dimmed">
      Not charged
    </Text>
  );
}
