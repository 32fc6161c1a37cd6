// Every change of the balance, each with what it was for.
import type { LedgerLine, QueryOf } from "@gr/console-api";
import { Badge, Button, Code, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useSearch } from "@tanstack/react-router";
import { call, urlOf } from "../api/console-client.ts";
import { Money, Time } from "../parts/figures.tsx";
import { ChoiceFilter, Filters, TextFilter } from "../parts/filters.tsx";
import { Empty } from "../parts/page-states.tsx";
import { PagedRows } from "../parts/paged-rows.tsx";
import { useAccount } from "../session.ts";

const KINDS = [
  { value: "deposit", label: "Deposits" },
  { value: "charge", label: "Charges" },
  { value: "refund", label: "Refunds" },
  { value: "adjustment", label: "Adjustments" },
];
const COLORS = { deposit: "green", charge: "gray", refund: "orange", adjustment: "blue" } as const;

export function Credits() {
  const { account_id: account } = useAccount();
  const { kind, from, to } = useSearch({ strict: false });
  const query = { kind, from, to } as QueryOf<"readLedger">;
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Credits
        </Title>
        <Button component="a" variant="default" href={urlOf("exportLedger", { account }, query)} download>
          CSV
        </Button>
      </Group>
      <Text size="sm" c="dimmed">
        The sum of all lines is the balance. What failed is free: it has no line.
      </Text>
      <Filters>
        <ChoiceFilter name="kind" label="Kind" value={kind} choices={KINDS} />
        <TextFilter name="from" label="From (UTC)" type="date" value={from} />
        <TextFilter name="to" label="To (UTC)" type="date" value={to} />
      </Filters>
      <PagedRows
        queryKey={["ledger", account, query]}
        read={(after, signal) =>
          call("readLedger", { path: { account }, query: { ...query, ...(after && { after }) }, signal })
        }
        empty={
          <Empty title="No line">A deposit is the first one. The operator of this router makes it.</Empty>
        }
      >
        {(lines) => <Lines lines={lines} />}
      </PagedRows>
    </Stack>
  );
}

function Lines({ lines }: { lines: readonly LedgerLine[] }) {
  return (
    <Table.ScrollContainer minWidth={640}>
      <Table>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>Kind</Table.Th>
            <Table.Th>For</Table.Th>
            <Table.Th ta="right">Amount</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {lines.map((line) => (
            <Table.Tr key={line.id}>
              <Table.Td>
                <Time at={line.at} />
              </Table.Td>
              <Table.Td>
                <Badge variant="light" color={COLORS[line.kind]}>
                  {line.kind}
                </Badge>
              </Table.Td>
              <Table.Td>
                <Text size="sm" className="break-anywhere">
                  {line.model ?? line.reason ?? line.source}
                </Text>
                {line.request_id !== null && <Code>{line.request_id}</Code>}
              </Table.Td>
              <Table.Td ta="right">
                <Money usd={line.amount} />
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}
