// The credits page lists every change of the balance with its reason.
import type { LedgerLine, QueryOf } from "@gr/console-api";
import { Anchor, Badge, Button, Group, SegmentedControl, Stack, Table, Text, Title } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { call, urlOf } from "../../api/console-client.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { ChoiceFilter, Filters, TextFilter, useFilter } from "../../parts/lists/filters.tsx";
import { Empty } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount, useSession } from "../../session.ts";
import { Payments, TopUp } from "./payments.tsx";

const KINDS = [
  { value: "deposit", label: "Deposits" },
  { value: "charge", label: "Charges" },
  { value: "refund", label: "Refunds" },
  { value: "adjustment", label: "Adjustments" },
];
const COLORS = { deposit: "green", charge: "gray", refund: "orange", adjustment: "blue" } as const;

export function Credits() {
  const { account_id: account } = useAccount();
  const { takes_payments } = useSession();
  const { view, payment, kind, from, to } = useSearch({ strict: false });
  const query = { kind, from, to } as QueryOf<"readLedger">;
  const filter = useFilter();
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Credits
        </Title>
        <Group gap="xs">
          {(takes_payments || view === "payments") && (
            <SegmentedControl
              aria-label="Shown"
              value={view === "payments" ? "payments" : "ledger"}
              data={[
                { value: "ledger", label: "Ledger" },
                { value: "payments", label: "Payments" },
              ]}
              onChange={(next) => void filter({ view: next === "ledger" ? null : next, payment: null })}
            />
          )}
          <Button component="a" variant="default" href={urlOf("exportLedger", { account }, query)} download>
            CSV
          </Button>
          <TopUp />
        </Group>
      </Group>
      {view === "payments" ? <Payments only={payment} /> : <Ledger account={account} query={query} />}
    </Stack>
  );
}

function Ledger({ account, query }: { account: string; query: QueryOf<"readLedger"> }) {
  const { takes_payments } = useSession();
  const { kind, from, to } = query;
  return (
    <>
      <Text size="sm" c="dimmed">
        Every deposit and charge. Failed requests are never charged.
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
          <Empty title="No entries">
            A deposit is the first one. {!takes_payments && "The operator of this router books it."}
          </Empty>
        }
      >
        {(lines) => <Lines account={account} lines={lines} />}
      </PagedRows>
    </>
  );
}

function Lines({ account, lines }: { account: string; lines: readonly LedgerLine[] }) {
  return (
    <RowsTable heads={["When", "Kind", "Model or reason", "Amount, USD"]} figures={1} minWidth={640}>
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
            {line.request_id !== null && <RequestLink account={account} request={line.request_id} />}
            {line.payment_id !== null && <PaymentLink account={account} payment={line.payment_id} />}
          </Table.Td>
          <Table.Td ta="right">
            <Money usd={line.amount} />
          </Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}

function RequestLink({ account, request }: { account: string; request: string }) {
  return (
    <Anchor
      size="sm"
      title={request}
      renderRoot={(props) => (
        <Link to="/accounts/$account/logs" params={{ account }} search={{ request }} {...props} />
      )}
    >
      Request
    </Anchor>
  );
}

function PaymentLink({ account, payment }: { account: string; payment: string }) {
  return (
    <Anchor
      size="sm"
      renderRoot={(props) => (
        <Link
          to="/accounts/$account/credits"
          params={{ account }}
          search={{ view: "payments", payment }}
          {...props}
        />
      )}
    >
      Payment
    </Anchor>
  );
}
