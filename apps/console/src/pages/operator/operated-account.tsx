// The operated account page shows an operator one account: credit, people, audit log and actions.
import type { OperatedAccount } from "@gr/console-api";
import { Badge, Button, Card, Group, SimpleGrid, Stack, Tabs, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useParams, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { moneyText } from "../../parts/figures/figure-text.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { later } from "../../parts/later.tsx";
import { Empty, Failure, PageMissing, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { useSession } from "../../session.ts";
import { AuditTable } from "../account/audit.tsx";
import type { OperatorAction } from "./account-action.tsx";
import { AccountKeys, AccountLedger, AccountRequests } from "./account-lists.tsx";
import { Figure } from "./figure.tsx";

const ActionDialog = later(async () => (await import("./account-action.tsx")).ActionDialog);

export function OperatedAccountPage() {
  const { is_operator } = useSession();
  const { id = "" } = useParams({ strict: false });
  const { data, error, refetch } = useQuery({
    queryKey: ["operator", "account", id],
    queryFn: ({ signal }) => call("readAccountAsOperator", { path: { id }, signal }),
    enabled: is_operator,
  });
  const [action, setAction] = useState<OperatorAction>();
  if (!is_operator) return <PageMissing />;
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <RowsWaiting />;
  return (
    <Stack>
      <Group justify="space-between">
        <Group>
          <Title order={1} size="h2">
            {data.name}
          </Title>
          {data.is_suspended && <Badge color="red">suspended</Badge>}
        </Group>
        <Group gap="xs">
          <Button onClick={() => setAction("deposit")}>Book a deposit</Button>
          <Button variant="default" onClick={() => setAction("adjustment")}>
            Adjust
          </Button>
          <Button variant="default" color="red" onClick={() => setAction("suspension")}>
            {data.is_suspended ? "Lift the suspension" : "Suspend"}
          </Button>
        </Group>
      </Group>
      <Figures account={data} />
      <Views id={id} />
      {action !== undefined && (
        <ActionDialog account={data} action={action} close={() => setAction(undefined)} />
      )}
    </Stack>
  );
}

const VIEWS = [
  { name: "requests", label: "Requests", show: (id: string) => <AccountRequests id={id} /> },
  { name: "keys", label: "Keys", show: (id: string) => <AccountKeys id={id} /> },
  { name: "ledger", label: "Ledger", show: (id: string) => <AccountLedger id={id} /> },
  { name: "activity", label: "Activity", show: (id: string) => <AccountActivity id={id} /> },
] as const;

/** The view is in the address, so that a link to it can be sent. */
function Views({ id }: { id: string }) {
  const { view = "activity" } = useSearch({ strict: false });
  const filter = useFilter();
  return (
    <Card>
      <Tabs
        value={view}
        onChange={(value) => void filter({ view: value === "activity" ? null : value })}
        keepMounted={false}
      >
        <Tabs.List mb="md">
          {VIEWS.map(({ name, label }) => (
            <Tabs.Tab key={name} value={name}>
              {label}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {VIEWS.map(({ name, show }) => (
          <Tabs.Panel key={name} value={name}>
            {show(id)}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Card>
  );
}

function AccountActivity({ id }: { id: string }) {
  return (
    <PagedRows
      queryKey={["operator", "audit", id]}
      read={(after, signal) =>
        call("readAuditAsOperator", { path: { id }, query: after === undefined ? {} : { after }, signal })
      }
      empty={<Empty title="No changes yet" />}
    >
      {(entries) => <AuditTable entries={entries} />}
    </PagedRows>
  );
}

function Figures({ account }: { account: OperatedAccount }) {
  const figures = [
    ["Balance", account.balance],
    ["Spend, 30 days", account.spend],
    ["Deposited", account.deposited],
    ["Held by running requests", account.held],
  ] as const;
  return (
    <>
      <SimpleGrid cols={{ base: 2, md: 4 }} spacing={{ base: 10, sm: "md" }}>
        {figures.map(([label, usd]) => (
          <Figure key={label} name={label}>
            {moneyText(usd)}
          </Figure>
        ))}
      </SimpleGrid>
      <Text size="sm" className="break-anywhere">
        {account.id} · {account.people.map(({ email, role }) => `${email} (${role})`).join(", ") || "nobody"}
      </Text>
    </>
  );
}
