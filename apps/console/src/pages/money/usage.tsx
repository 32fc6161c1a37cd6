// Requests and spend, summed by day, key, model, provider or kind.
import type { QueryOf, UsageAnswer } from "@gr/console-api";
import { Alert, Button, Card, Group, SegmentedControl, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { call, urlOf } from "../../api/console-client.ts";
import { countText } from "../../parts/figures/figure-text.ts";
import { Money } from "../../parts/figures/figures.tsx";
import { Filters, TextFilter, useFilter } from "../../parts/lists/filters.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { Empty, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount } from "../../session.ts";

/** Loaded later, because charts are large and the table works without them. */
const SpendChart = lazy(() => import("./spend-chart.tsx"));

const GROUPS = [
  { value: "day", label: "Day" },
  { value: "key", label: "Key" },
  { value: "model", label: "Model" },
  { value: "provider", label: "Provider" },
  { value: "kind", label: "Kind" },
];

export function Usage() {
  const { account_id: account } = useAccount();
  const search = useSearch({ strict: false });
  const { from, to, key_id, model } = search;
  const group_by = GROUPS.find(({ value }) => value === search.group_by)?.value ?? "day";
  const query = { from, to, key_id, model, group_by } as QueryOf<"readUsage">;
  const csvQuery = { ...query, group_by: group_by === "day" ? "model" : group_by };
  const filter = useFilter();
  const usage = useQuery({
    queryKey: ["usage", account, query],
    queryFn: ({ signal }) => call("readUsage", { path: { account }, query, signal }),
  });
  const perDayQuery = {
    ...query,
    group_by: group_by === "day" ? "model" : group_by,
    per_day: "true",
  } as const;
  const perDay = useQuery({
    queryKey: ["usage", account, perDayQuery],
    queryFn: ({ signal }) =>
      call("readUsage", { path: { account }, query: perDayQuery as QueryOf<"readUsage">, signal }),
  });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Usage
        </Title>
        <Button
          component="a"
          variant="default"
          href={urlOf("exportActivity", { account }, csvQuery)}
          download
        >
          CSV
        </Button>
      </Group>
      <SegmentedControl
        aria-label="Group by"
        value={group_by}
        data={GROUPS}
        onChange={(value) => void filter({ group_by: value === "day" ? null : value })}
      />
      <Filters>
        <TextFilter name="from" label="From (UTC)" type="date" value={from} />
        <TextFilter name="to" label="To (UTC)" type="date" value={to} />
        <TextFilter name="model" label="Model" value={model} />
        <TextFilter name="key_id" label="Key id" value={key_id} />
      </Filters>
      <Loaded of={perDay}>
        {(data) =>
          data.data.length > 0 && (
            <Card>
              <Suspense fallback={<RowsWaiting rows={4} />}>
                <SpendChart usage={data} />
              </Suspense>
            </Card>
          )
        }
      </Loaded>
      <Loaded of={usage}>{(data) => <Sums usage={data} groupBy={group_by} />}</Loaded>
    </Stack>
  );
}

function Sums({ usage, groupBy }: { usage: UsageAnswer; groupBy: string }) {
  if (usage.data.length === 0) {
    return (
      <Empty title="No requests">
        from {usage.from} to {usage.to}
      </Empty>
    );
  }
  return (
    <>
      <Text>
        <Money usd={usage.total.spend} strong /> for {countText(usage.total.requests)} requests, from{" "}
        {usage.from} to {usage.to}
      </Text>
      {usage.is_cut && (
        <Alert color="yellow">
          Only some rows are shown. The CSV of a shorter period contains all of its rows.
        </Alert>
      )}
      <RowsTable
        heads={[GROUPS.find(({ value }) => value === groupBy)?.label ?? "", "Requests", "Spend, USD"]}
        figures={2}
        minWidth={300}
      >
        {usage.data.map((row) => (
          <Table.Tr key={`${row.group} ${row.day ?? ""}`}>
            <Table.Td className="break-anywhere">{row.label}</Table.Td>
            <Table.Td ta="right" className="figures">
              {countText(row.requests)}
            </Table.Td>
            <Table.Td ta="right">
              <Money usd={row.spend} />
            </Table.Td>
          </Table.Tr>
        ))}
      </RowsTable>
    </>
  );
}
