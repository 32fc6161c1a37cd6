// The reconciliation page compares the bills of providers with our books, as the console does every day.
import type { RouterStatements } from "@gr/console-api";
import { Alert, Badge, Card, Code, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { exactMoneyText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { Empty, PageMissing } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useSession } from "../../session.ts";

type Statement = RouterStatements["data"][number];
type Comparison = NonNullable<Statement["comparison"]>;

export function Reconciliation() {
  const { is_operator } = useSession();
  const statements = useQuery({
    queryKey: ["operator", "statements"],
    queryFn: ({ signal }) => call("listStatements", { signal }),
    enabled: is_operator,
  });
  if (!is_operator) return <PageMissing />;
  return (
    <Stack>
      <Title order={1} size="h2">
        Reconciliation
      </Title>
      <Text size="sm" c="dimmed">
        The bills of providers beside our books. Amounts are exact; a difference above the tolerance is
        marked.
      </Text>
      <Loaded of={statements}>
        {({ data }) =>
          data.length === 0 ? (
            <Card>
              <Empty title="No statement is configured">
                <Code>STATEMENTS</Code> names the providers whose bills are compared.{" "}
                <Code>npm run cli -- reconcile</Code> compares a CSV file.
              </Empty>
            </Card>
          ) : (
            data.map((statement) => <StatementCard key={statement.name} of={statement} />)
          )
        }
      </Loaded>
    </Stack>
  );
}

function StatementCard({ of: { name, is_read, problem, comparison } }: { of: Statement }) {
  const isOff = comparison?.models.some(({ differs }) => differs) ?? false;
  return (
    <Card component="section" aria-label={name}>
      <Stack gap="sm">
        <Group justify="space-between">
          <Group gap="xs">
            <Title order={2} size="h4">
              {name}
            </Title>
            {comparison !== null && (
              <Badge color={isOff ? "red" : "green"}>{isOff ? "Differs" : "Agrees"}</Badge>
            )}
          </Group>
          {comparison !== null && (
            <Text size="xs" c="dimmed">
              {comparison.from} to {comparison.to}, compared <Time at={comparison.compared_at} isShort />
            </Text>
          )}
        </Group>
        {problem !== null && (
          <Alert color="red" title="The last try failed">
            {problem}
          </Alert>
        )}
        {comparison === null ? (
          <Text size="sm" c="dimmed">
            {is_read
              ? "Not compared yet. The first comparison follows within the day."
              : "This provider has no readable bill: npm run cli -- reconcile compares its CSV file."}
          </Text>
        ) : (
          <Compared of={comparison} />
        )}
      </Stack>
    </Card>
  );
}

function Compared({ of: { billed, booked, off, models } }: { of: Comparison }) {
  return (
    <>
      <Group gap="xl" className="figures">
        <Text size="sm">Billed {exactMoneyText(billed)}</Text>
        <Text size="sm">Booked {exactMoneyText(booked)}</Text>
        <Text size="sm">Beyond the tolerance {exactMoneyText(off)}</Text>
      </Group>
      <RowsTable heads={["Model", "State", "Billed", "Booked", "Difference"]} figures={3} minWidth={620}>
        {models.map(({ model, billed: theirs, booked: ours, difference, differs }) => (
          <Table.Tr key={model}>
            <Table.Td className="break-anywhere">{model || "Attempts before another one"}</Table.Td>
            <Table.Td>
              {differs ? <Badge color="red">Differs</Badge> : <Badge color="green">Agrees</Badge>}
            </Table.Td>
            {[theirs, ours, difference].map((usd, column) => (
              <Table.Td key={["billed", "booked", "difference"][column]} ta="right" className="figures">
                {usd === null ? "–" : exactMoneyText(usd)}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </RowsTable>
    </>
  );
}
