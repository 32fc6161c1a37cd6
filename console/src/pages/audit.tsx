// Who changed what in the account.
import { Code, Stack, Table, Text, Title } from "@mantine/core";
import { call } from "../api/console-client.ts";
import { Time } from "../parts/figures.tsx";
import { Empty, NotAllowed } from "../parts/page-states.tsx";
import { PagedRows } from "../parts/paged-rows.tsx";
import { useAccount } from "../session.ts";

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
        empty={<Empty title="Nothing was changed yet" />}
      >
        {(entries) => (
          <Table.ScrollContainer minWidth={640}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>When</Table.Th>
                  <Table.Th>Who</Table.Th>
                  <Table.Th>What</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {entries.map((entry) => (
                  <Table.Tr key={entry.id}>
                    <Table.Td>
                      <Time at={entry.at} />
                    </Table.Td>
                    <Table.Td className="break-anywhere">
                      {entry.actor ?? "the operator"}
                      <Text size="xs" c="dimmed">
                        {entry.address}
                      </Text>
                    </Table.Td>
                    <Table.Td className="break-anywhere">
                      {entry.action} {entry.subject !== null && <Code>{entry.subject}</Code>}
                      <Text size="xs" c="dimmed">
                        {Object.entries(entry.detail)
                          .map(([name, value]) => `${name}: ${value}`)
                          .join(", ")}
                      </Text>
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )}
      </PagedRows>
    </Stack>
  );
}
