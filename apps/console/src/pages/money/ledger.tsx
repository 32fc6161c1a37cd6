// The ledger lists every change of the balance with its reason, and the balance after it.
import type { LedgerLine, QueryOf } from "@gr/console-api";
import { Anchor, Badge, Button, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { moneyText, signedMoneyText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { ChoiceChip } from "../../parts/filters/filter-chips.tsx";
import { TimeFilter } from "../../parts/filters/time-filter.tsx";
import { rangeMs } from "../../parts/filters/time-ranges.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { useKeyNames, useModelNames } from "../../parts/lists/names-of.ts";
import { Empty } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount, useSession } from "../../session.ts";

export type LedgerSearch = Partial<Record<"kind" | "range" | "from" | "to", string>>;

const KINDS = [
  { value: "deposit", label: "Deposits and top-ups" },
  { value: "charge", label: "Charges" },
  { value: "refund", label: "Refunds" },
  { value: "adjustment", label: "Adjustments" },
];
const COLORS = { deposit: "green", charge: "gray", refund: "orange", adjustment: "blue" } as const;
const NAMES = { deposit: "Deposit", charge: "Charge", refund: "Refund", adjustment: "Adjustment" } as const;
const NO_FILTERS = { kind: null, range: null, from: null, to: null };

/** Returns the query of a search now. Presets begin at the start of a day in UTC. */
export function ledgerQuery({ kind, range, from, to }: LedgerSearch, now: number): QueryOf<"readLedger"> {
  const ms = rangeMs(range);
  const first = ms === undefined ? from : new Date(now - ms).toISOString().slice(0, 10);
  return {
    ...(kind !== undefined && { kind }),
    ...(first !== undefined && { from: first }),
    ...(ms === undefined && to !== undefined && { to }),
  } as QueryOf<"readLedger">;
}

export function Ledger({ search }: { search: LedgerSearch }) {
  const { account_id: account } = useAccount();
  const { takes_payments } = useSession();
  const filter = useFilter();
  const query = ledgerQuery(search, Date.now());
  const isFiltered = Object.keys(query).length > 0;
  return (
    <Stack gap="sm">
      <Group gap="xs" role="search">
        <TimeFilter search={search} shortest="24h" />
        <ChoiceChip name="kind" label="Kind" value={search.kind} choices={KINDS} />
        {isFiltered && (
          <Button variant="subtle" size="xs" color="gray" onClick={() => void filter(NO_FILTERS)}>
            Clear filters
          </Button>
        )}
        <Text size="sm" c="dimmed" ml="auto">
          Every deposit and charge. Failed requests are never charged.
        </Text>
      </Group>
      <PagedRows
        queryKey={["ledger", account, query]}
        read={(after, signal) =>
          call("readLedger", { path: { account }, query: { ...query, ...(after && { after }) }, signal })
        }
        more="Load 50 more"
        empty={
          isFiltered ? (
            <Empty title="No entries match" />
          ) : (
            <Empty title="No entries">
              A deposit is the first one. {!takes_payments && "The operator of this router books it."}
            </Empty>
          )
        }
      >
        {(lines) => <Lines lines={lines} />}
      </PagedRows>
    </Stack>
  );
}

function Lines({ lines }: { lines: readonly LedgerLine[] }) {
  const models = useModelNames();
  const keys = useKeyNames();
  const { account_id: account } = useAccount();
  return (
    <RowsTable
      heads={["Time", "Kind", "Details", "Key", "Amount", "Balance after"]}
      figures={2}
      minWidth={760}
    >
      {lines.map((line) => (
        <Table.Tr key={line.id}>
          <Table.Td>
            <Text inherit c="dimmed">
              <Time at={line.at} isShort />
            </Text>
          </Table.Td>
          <Table.Td>
            <Badge variant="light" color={COLORS[line.kind]}>
              {line.kind === "deposit" && line.payment_id !== null ? "Top-up" : NAMES[line.kind]}
            </Badge>
          </Table.Td>
          <Table.Td className="break-anywhere">
            <Details of={line} modelName={models.nameOf} />
          </Table.Td>
          <Table.Td c="dimmed">
            {line.key_id === null ? "–" : keys.nameOf(line.key_id === "web_token" ? account : line.key_id)}
          </Table.Td>
          <Table.Td ta="right" className={line.amount.startsWith("-") ? "figures" : "figures money-in"}>
            {signedMoneyText(line.amount)}
          </Table.Td>
          <Table.Td ta="right" className="figures" c="dimmed">
            {line.balance_after === null ? "–" : balanceText(line.balance_after)}
          </Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}

/** Four decimals, as the amount beside it has. */
function balanceText(usd: string): string {
  return usd.startsWith("-") ? `−${balanceText(usd.slice(1))}` : signedMoneyText(usd).slice(1);
}

function Details({ of: line, modelName }: { of: LedgerLine; modelName: (id: string) => string }) {
  if (line.request_id !== null) {
    return <RequestLink request={line.request_id}>{modelName(line.model ?? "Request")}</RequestLink>;
  }
  if (line.payment_id !== null) return <PaymentLink payment={line.payment_id} />;
  return <Text inherit>{line.reason ?? line.source ?? moneyText(line.amount)}</Text>;
}

function RequestLink({ request, children }: { request: string; children: string }) {
  const { account_id: account } = useAccount();
  return (
    <Anchor
      inherit
      c="inherit"
      underline="hover"
      title={request}
      renderRoot={(props) => (
        <Link to="/accounts/$account/logs" params={{ account }} search={{ request }} {...props} />
      )}
    >
      {children}
    </Anchor>
  );
}

function PaymentLink({ payment }: { payment: string }) {
  const { account_id: account } = useAccount();
  return (
    <Anchor
      inherit
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
