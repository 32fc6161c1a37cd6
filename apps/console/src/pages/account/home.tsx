// The home page shows an account's balance, its spend, its last failures, and the first steps of a new account.
import type { HomeRecord } from "@gr/console-api";
import { Anchor, Card, Group, SimpleGrid, Stack, Table, Text, ThemeIcon, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "../../api/console-client.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { CodeBlock } from "../../parts/forms/copy-text.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount } from "../../session.ts";

/** Interval that turns the first request green while its sender still looks. */
const FIRST_STEPS_MS = 3_000;
const USUAL_MS = 30_000;

export function Home() {
  const { account_id: account, account_name } = useAccount();
  const home = useQuery({
    queryKey: ["home", account],
    queryFn: ({ signal }) => call("readHome", { path: { account }, signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && !state.data.first_steps.has_request ? FIRST_STEPS_MS : USUAL_MS,
  });
  return (
    <Stack>
      <Title order={1} size="h2">
        {account_name}
      </Title>
      <Loaded of={home}>{(data) => <Content account={account} home={data} />}</Loaded>
    </Stack>
  );
}

function Content({ account, home }: { account: string; home: HomeRecord }) {
  const { first_steps: steps } = home;
  return (
    <>
      <Figures home={home} />
      {!(steps.has_deposit && steps.has_key && steps.has_request) && (
        <FirstSteps account={account} steps={steps} />
      )}
      <Failures failures={home.last_failures} />
    </>
  );
}

function Figures({ home: { balance, held, spend, days_left } }: { home: HomeRecord }) {
  const lasts =
    days_left === null ? "no spend in the last 7 days" : `about ${days_left} days left at the current rate`;
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
      <Figure name="Balance" note={lasts}>
        <Money usd={balance} strong />
      </Figure>
      <Figure name="Spent today" note="since 00:00 UTC">
        <Money usd={spend.today} strong />
      </Figure>
      <Figure name="Last 7 days">
        <Money usd={spend.last_7_days} strong />
      </Figure>
      <Figure
        name="Last 30 days"
        note={
          Number(held) > 0 && (
            <>
              <Money usd={held} /> reserved by running requests
            </>
          )
        }
      >
        <Money usd={spend.last_30_days} strong />
      </Figure>
    </SimpleGrid>
  );
}

function Figure({ name, note, children }: { name: string; note?: ReactNode; children: ReactNode }) {
  return (
    <Card withBorder padding="md">
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text size="xl">{children}</Text>
      <Text size="xs" c="dimmed" mih="1.2rem" component="div">
        {note}
      </Text>
    </Card>
  );
}

function FirstSteps({ account, steps }: { account: string; steps: HomeRecord["first_steps"] }) {
  const curl = [
    `curl ${window.location.origin}/v1/compat/chat/completions \\`,
    '  -H "Authorization: Bearer $API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"model": "sandbox/chat", "messages": [{"role": "user", "content": "Hello"}]}'`,
  ].join("\n");
  return (
    <Card withBorder component="section" aria-label="First steps">
      <Stack gap="sm">
        <Title order={2} size="h4">
          First steps
        </Title>
        <Step done={steps.has_deposit}>
          Put credit on the account:{" "}
          <Anchor
            renderRoot={(props) => <Link to="/accounts/$account/credits" params={{ account }} {...props} />}
          >
            Credits
          </Anchor>
        </Step>
        <Step done={steps.has_key}>
          Create a key:{" "}
          <Anchor
            renderRoot={(props) => <Link to="/accounts/$account/keys" params={{ account }} {...props} />}
          >
            API keys
          </Anchor>
        </Step>
        <Step done={steps.has_request}>Send the first request. This turns green when it is seen:</Step>
        <CodeBlock code={curl} label="the first request" />
      </Stack>
    </Card>
  );
}

function Step({ done, children }: { done: boolean; children: ReactNode }) {
  return (
    <Group gap="sm" wrap="nowrap">
      <ThemeIcon
        size="sm"
        radius="xl"
        color={done ? "green" : "gray"}
        variant={done ? "filled" : "light"}
        role="img"
        aria-label={done ? "done" : "not done yet"}
      >
        {done ? "✓" : "·"}
      </ThemeIcon>
      <Text component="div">{children}</Text>
    </Group>
  );
}

function Failures({ failures }: { failures: HomeRecord["last_failures"] }) {
  if (failures.length === 0) return null;
  return (
    <Card withBorder component="section" aria-label="Last failures">
      <Title order={2} size="h4" mb="xs">
        Last failures
      </Title>
      <Text size="sm" c="dimmed" mb="xs">
        Failed requests are not charged.
      </Text>
      <RowsTable heads={["When", "Model", "Why"]} minWidth={500}>
        {failures.map((failure) => (
          <Table.Tr key={failure.id}>
            <Table.Td>
              <Time at={failure.at} />
            </Table.Td>
            <Table.Td>{failure.model}</Table.Td>
            <Table.Td>{failure.message}</Table.Td>
          </Table.Tr>
        ))}
      </RowsTable>
    </Card>
  );
}
