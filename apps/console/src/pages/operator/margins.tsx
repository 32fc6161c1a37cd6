// The margin page shows the charges, the costs and the losses of all accounts by provider.
import type { MarginRow, RouterMargins } from "@gr/console-api";
import { Card, Group, SegmentedControl, SimpleGrid, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { countText, exactMoneyText, moneyText } from "../../parts/figures/figure-text.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { Empty, PageMissing } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useSession } from "../../session.ts";
import { Figure } from "./figure.tsx";

const DAYS = [
  { value: "1", label: "Today" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
] as const;

export function Margins() {
  const { is_operator } = useSession();
  const { days: wanted } = useSearch({ strict: false });
  const filter = useFilter();
  const days = DAYS.find(({ value }) => value === wanted)?.value ?? "7";
  const margins = useQuery({
    queryKey: ["operator", "margins", days],
    queryFn: ({ signal }) => call("readMargins", { query: { days }, signal }),
    enabled: is_operator,
  });
  if (!is_operator) return <PageMissing />;
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Margin
        </Title>
        <SegmentedControl
          aria-label="Days"
          data={[...DAYS]}
          value={days}
          onChange={(value) => void filter({ days: value === "7" ? null : value })}
        />
      </Group>
      <Loaded of={margins}>
        {(data) => (
          <>
            <Figures of={data.total} />
            <ByProvider of={data} />
          </>
        )}
      </Loaded>
    </Stack>
  );
}

function Figures({ of: { charged, cost, losses, margin } }: { of: RouterMargins["total"] }) {
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing={{ base: 10, sm: "md" }}>
      <Figure name="Charged" note="To all accounts">
        {moneyText(charged)}
      </Figure>
      <Figure name="Cost" note="Bills for delivered requests">
        {exactMoneyText(cost)}
      </Figure>
      <Figure name="Losses" note="Failed requests and late bills">
        {exactMoneyText(losses)}
      </Figure>
      <Figure name="Margin" note="Charged, less cost and losses">
        {exactMoneyText(margin)}
      </Figure>
    </SimpleGrid>
  );
}

function ByProvider({ of: { data, from, to } }: { of: RouterMargins }) {
  return (
    <Card component="section" aria-label="By provider">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          By provider
        </Title>
        <Text size="xs" c="dimmed">
          {from} to {to}, UTC days
        </Text>
      </Group>
      {data.length === 0 ? (
        <Empty title="No bookings in these days">Charges and bills of providers appear here.</Empty>
      ) : (
        <RowsTable
          heads={["Provider", "Bookings", "Charged", "Cost", "Losses", "Margin"]}
          figures={5}
          minWidth={640}
        >
          {data.map((row) => (
            <Row key={row.provider} of={row} />
          ))}
        </RowsTable>
      )}
    </Card>
  );
}

function Row({ of: { provider, entries, charged, cost, losses, margin } }: { of: MarginRow }) {
  const isLoss = margin.startsWith("-");
  return (
    <Table.Tr>
      <Table.Td fw={500}>{provider}</Table.Td>
      <Table.Td ta="right" className="figures">
        {countText(entries)}
      </Table.Td>
      {[charged, cost, losses].map((usd, column) => (
        <Table.Td key={["charged", "cost", "losses"][column]} ta="right" className="figures">
          {exactMoneyText(usd)}
        </Table.Td>
      ))}
      <Table.Td ta="right" className="figures" fw={600} {...(isLoss && { c: "red" })}>
        {exactMoneyText(margin)}
      </Table.Td>
    </Table.Tr>
  );
}
