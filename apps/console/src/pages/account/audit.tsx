// The audit page lists the changes of the account and the people behind them.
import type { AnswerOf } from "@gr/console-api";
import { Stack, Table, Text, Title } from "@mantine/core";
import { call } from "../../api/console-client.ts";
import { actionText, moneyText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { Empty, NotAllowed } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount } from "../../session.ts";

type AuditEntry = AnswerOf<"readAudit">["data"][number];

export function Audit() {
  const { account_id: account, may } = useAccount();
  if (!may("admin")) return <NotAllowed least="admin" />;
  return (
    <Stack>
      <Title order={1} size="h2">
        Audit log
      </Title>
      <PagedRows
        queryKey={["audit", account]}
        read={(after, signal) =>
          call("readAudit", { path: { account }, query: after === undefined ? {} : { after }, signal })
        }
        empty={<Empty title="No changes yet" />}
      >
        {(entries) => <AuditTable entries={entries} />}
      </PagedRows>
    </Stack>
  );
}

export function AuditTable({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <RowsTable heads={["When", "Who", "From", "Activity", "Details"]} minWidth={1000}>
      {entries.map((entry) => (
        <Table.Tr key={entry.id}>
          <Table.Td>
            <Time at={entry.at} />
          </Table.Td>
          <Table.Td className="break-anywhere" miw={190}>
            {entry.actor ?? "the operator"}
          </Table.Td>
          <Table.Td className="break-anywhere" miw={120}>
            {entry.address ?? "–"}
          </Table.Td>
          <Table.Td className="one-line" title={entry.action}>
            {actionText(entry.action)}
          </Table.Td>
          <Table.Td className="break-anywhere">
            <Stack gap={0}>
              <Text size="sm">{detailText(entry.detail)}</Text>
              {entry.subject !== null && (
                <Text size="xs" c="dimmed" ff="monospace">
                  {entry.subject}
                </Text>
              )}
            </Stack>
          </Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}

function detailText(detail: AuditEntry["detail"]): string {
  return Object.entries(detail)
    .map(([name, value]) => `${name}: ${name === "amount" ? moneyText(value) : value}`)
    .join(", ");
}
