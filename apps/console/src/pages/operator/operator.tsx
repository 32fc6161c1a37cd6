// The operator page finds every account of the console by id, name or address.
import type { QueryOf } from "@gr/console-api";
import { Anchor, Stack, Table, Text, Title } from "@mantine/core";
import { Link, useSearch } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { Filters, TextFilter } from "../../parts/lists/filters.tsx";
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
      <PagedRows
        queryKey={["operator", "accounts", query]}
        read={(after, signal) =>
          call("findAccounts", { query: { ...query, ...(after && { after }) }, signal })
        }
        empty={<Empty title="Account not found">Only the CLI finds accounts without members.</Empty>}
      >
        {(accounts) => (
          <RowsTable heads={["Name", "Opened", "Members"]} figures={1} minWidth={520}>
            {accounts.map(({ id, name, created_at, members }) => (
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
                  <Time at={created_at} />
                </Table.Td>
                <Table.Td ta="right">{members}</Table.Td>
              </Table.Tr>
            ))}
          </RowsTable>
        )}
      </PagedRows>
    </Stack>
  );
}
