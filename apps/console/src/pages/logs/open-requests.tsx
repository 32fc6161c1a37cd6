// Open requests are listed oldest first, so that stuck ones are at the top.
import type { OpenRequestRecord } from "@gr/console-api";
import { Alert, Anchor, Badge, Code, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { fromNow } from "../../parts/figures/figure-text.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { Empty, PageMissing } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useSession } from "../../session.ts";

const AGAIN_MS = 5_000;

export function OpenRequests() {
  const { is_operator } = useSession();
  const requests = useQuery({
    queryKey: ["operator", "requests"],
    queryFn: ({ signal }) => call("listOpenRequests", { signal }),
    refetchInterval: AGAIN_MS,
    enabled: is_operator,
  });
  if (!is_operator) return <PageMissing />;
  return (
    <Stack>
      <Title order={1} size="h2">
        Open requests
      </Title>
      <Text size="sm" c="dimmed">
        Requests that reserve credit now. After the deadline of a request its outcome is unknown: the router
        asks the provider, and the credit stays reserved until the provider answers.
      </Text>
      <Loaded of={requests}>
        {({ data, is_cut }) => (
          <>
            {data.length === 0 ? <Empty title="No open requests" /> : <Rows requests={data} />}
            {is_cut && <Alert color="gray">Only the first requests are shown.</Alert>}
          </>
        )}
      </Loaded>
    </Stack>
  );
}

function Rows({ requests }: { requests: readonly OpenRequestRecord[] }) {
  return (
    <RowsTable heads={["Since", "What", "Asked", "Deadline", "Held"]} figures={1} minWidth={760}>
      {requests.map((request) => (
        <Table.Tr key={request.id}>
          <Table.Td>
            <Time at={request.placed_at} />
          </Table.Td>
          <Table.Td className="break-anywhere">
            {request.model}
            <Text size="xs" c="dimmed">
              <Code>{request.id}</Code>
            </Text>
            <Anchor
              size="xs"
              renderRoot={(props) => (
                <Link to="/operator/accounts/$id" params={{ id: request.account_id }} {...props} />
              )}
            >
              Account
            </Anchor>
          </Table.Td>
          <Table.Td>
            {request.provider}
            <Text size="xs" c="dimmed">
              {request.service}, attempt {request.attempt}
            </Text>
          </Table.Td>
          <Table.Td>
            {fromNow(request.deadline_at)}
            {request.is_overdue && (
              <Badge variant="light" color="red" display="block" w="fit-content">
                overdue
              </Badge>
            )}
          </Table.Td>
          <Table.Td ta="right">
            <Money usd={request.held} />
          </Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}
