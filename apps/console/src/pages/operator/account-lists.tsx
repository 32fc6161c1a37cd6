// Lists of one account for an operator: its requests, its keys, its ledger. They only show; changes belong to its members.
import type { KeyRecord, LedgerLine, RequestRecord } from "@gr/console-api";
import { Badge, Stack, Table, Text } from "@mantine/core";
import { call } from "../../api/console-client.ts";
import { moneyText, signedMoneyText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { Empty } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RequestCost } from "../../parts/lists/request-figures.tsx";
import { RequestStatus } from "../../parts/lists/request-status.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";

const pageOf = (after: string | undefined) => (after === undefined ? {} : { after });

export function AccountRequests({ id }: { id: string }) {
  return (
    <PagedRows
      queryKey={["operator", "requests of", id]}
      read={(after, signal) => call("listRequestsAsOperator", { path: { id }, query: pageOf(after), signal })}
      empty={<Empty title="No requests yet">The account has sent no request.</Empty>}
    >
      {(requests) => (
        <RowsTable heads={["Request", "Model", "Status", "Time", "Cost"]} figures={1} minWidth={760}>
          {requests.map((request) => (
            <RequestRow key={request.id} of={request} />
          ))}
        </RowsTable>
      )}
    </PagedRows>
  );
}

function RequestRow({ of: request }: { of: RequestRecord }) {
  const { id, model, error, created_at } = request;
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="xs" ff="monospace" className="break-anywhere">
          {id}
        </Text>
        {error !== null && (
          <Text size="xs" c="dimmed" lineClamp={2}>
            {error.message}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="break-anywhere">{model}</Table.Td>
      <Table.Td>
        <RequestStatus of={request} />
      </Table.Td>
      <Table.Td>
        <Time at={created_at} isShort />
      </Table.Td>
      <Table.Td ta="right" className="figures">
        <RequestCost of={request} />
      </Table.Td>
    </Table.Tr>
  );
}

const KEY_COLORS = { active: "green", disabled: "gray", expired: "gray", blocked: "red" } as const;

export function AccountKeys({ id }: { id: string }) {
  return (
    <PagedRows
      queryKey={["operator", "keys of", id]}
      read={(after, signal) => call("listKeysAsOperator", { path: { id }, query: pageOf(after), signal })}
      empty={<Empty title="No keys yet">The account has no API key.</Empty>}
    >
      {(keys) => (
        <RowsTable
          heads={["Key", "State", "Last used", "Requests", "Spend", "Budget", "Total spend"]}
          figures={4}
          minWidth={760}
        >
          {keys.map((key) => (
            <KeyRow key={key.id} of={key} />
          ))}
        </RowsTable>
      )}
    </PagedRows>
  );
}

function KeyRow({ of: key }: { of: KeyRecord }) {
  const { name, hint, status, last_used_on, total_requests, period_spend, spend_limit, total_spend } = key;
  return (
    <Table.Tr>
      <Table.Td>
        <Stack gap={0}>
          <Text fw={500} className="break-anywhere">
            {name}
          </Text>
          <Text size="xs" c="dimmed" ff="monospace">
            {hint}
          </Text>
        </Stack>
      </Table.Td>
      <Table.Td>
        <Badge color={KEY_COLORS[status]}>{status === "blocked" ? "limit reached" : status}</Badge>
      </Table.Td>
      <Table.Td>{last_used_on ?? "–"}</Table.Td>
      <Table.Td ta="right" className="figures">
        {total_requests}
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {moneyText(period_spend)}
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {spend_limit === null ? "none" : `${moneyText(spend_limit)} ${key.spend_limit_period ?? "total"}`}
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {moneyText(total_spend)}
      </Table.Td>
    </Table.Tr>
  );
}

export function AccountLedger({ id }: { id: string }) {
  return (
    <PagedRows
      queryKey={["operator", "ledger of", id]}
      read={(after, signal) => call("readLedgerAsOperator", { path: { id }, query: pageOf(after), signal })}
      empty={<Empty title="No bookings yet">Deposits and charges appear here.</Empty>}
    >
      {(lines) => (
        <RowsTable heads={["Time", "Kind", "Details", "Amount"]} figures={1} minWidth={640}>
          {lines.map((line) => (
            <LedgerRow key={line.id} of={line} />
          ))}
        </RowsTable>
      )}
    </PagedRows>
  );
}

function LedgerRow({ of: { at, kind, amount, model, request_id, source, reason } }: { of: LedgerLine }) {
  return (
    <Table.Tr>
      <Table.Td>
        <Time at={at} isShort />
      </Table.Td>
      <Table.Td>{kind}</Table.Td>
      <Table.Td className="break-anywhere">
        {reason ?? source ?? model ?? ""}
        {request_id !== null && (
          <Text size="xs" c="dimmed" ff="monospace">
            {request_id}
          </Text>
        )}
      </Table.Td>
      <Table.Td ta="right" className="figures">
        {signedMoneyText(amount)}
      </Table.Td>
    </Table.Tr>
  );
}
