// The operator page finds every account of the console by id, name or address.
import type { QueryOf } from "@gr/console-api";
import { Anchor, Badge, Card, Stack, Table, Text, Title } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { Balance, Money, Time } from "../../parts/figures/figures.tsx";
import { Filters, TextFilter } from "../../parts/filters/filters.tsx";
import { Empty, PageMissing } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useSession } from "../../session.ts";

export function Operator() {
  const { is_operator } = useSession();
  const { text } = useSearch({ strict: false });
  const query: QueryOf<"findAccounts"> = text === undefined ? {} : { text };
  if (!is_operator) return <PageMissing />;
  return (
    <Stack>
      <Title order={1} size="h2">
        Accounts
      </Title>
      <Filters>
        <TextFilter name="text" label="Id, name or address" value={text} />
      </Filters>
      <Card>
        <PagedRows
          queryKey={["operator", "accounts", query]}
          read={(after, signal) =>
            call("findAccounts", { query: { ...query, ...(after && { after }) }, signal })
          }
          empty={<Empty title="Account not found">Only the CLI finds accounts without members.</Empty>}
        >
          {(accounts) => (
            <RowsTable
              heads={["Name", "State", "Opened", "Members", "Spend, 30 days", "Balance"]}
              figures={3}
              minWidth={760}
            >
              {accounts.map(({ id, name, created_at, members, is_suspended, spend, balance }) => (
                <Table.Tr key={id}>
                  <Table.Td className="break-anywhere">
                    <Anchor
                      renderRoot={(props) => <Link to="/operator/accounts/$id" params={{ id }} {...props} />}
                    >
                      {name}
                    </Anchor>
                    <Text size="xs" c="dimmed">
                      {id}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    {is_suspended ? (
                      <Badge color="red">Suspended</Badge>
                    ) : Number(balance) <= 0 ? (
                      <Badge color="yellow">No credit</Badge>
                    ) : (
                      <Badge color="green">Active</Badge>
                    )}
                  </Table.Td>
                  <Table.Td>
                    <Time at={created_at} isShort />
                  </Table.Td>
                  <Table.Td ta="right">{members}</Table.Td>
                  <Table.Td ta="right">
                    <Money usd={spend} />
                  </Table.Td>
                  <Table.Td ta="right">
                    <Balance usd={balance} strong />
                  </Table.Td>
                </Table.Tr>
              ))}
            </RowsTable>
          )}
        </PagedRows>
      </Card>
    </Stack>
  );
}
