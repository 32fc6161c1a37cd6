// The alerts page shows the history of alerts to every member, and the settings to admins.
import type { AlertRecord, AlertSettingsRecord } from "@gr/console-api";
import { Badge, Button, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { moneyText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { later } from "../../parts/later.tsx";
import { Empty, Failure } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount } from "../../session.ts";

const AlertSettingsDialog = later(async () => (await import("./alert-settings.tsx")).AlertSettingsDialog);

/** Time between two refreshes of the history, in milliseconds. */
const REFRESH_MS = 30_000;

export function Alerts() {
  const { account_id: account, may } = useAccount();
  const isAdmin = may("admin");
  const settings = useQuery({
    queryKey: ["alert settings", account],
    queryFn: ({ signal }) => call("readAlertSettings", { path: { account }, signal }),
    enabled: isAdmin,
  });
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Alerts
        </Title>
        {settings.data && (
          <Group gap="xs">
            <SendTest settings={settings.data} />
            {settings.data.is_set && <Button onClick={open}>Change alerts</Button>}
          </Group>
        )}
      </Group>
      {settings.error && <Failure error={settings.error} retry={() => void settings.refetch()} />}
      {settings.data?.is_set && <Rules of={settings.data} />}
      <PagedRows
        queryKey={["alerts", account]}
        read={(after, signal) =>
          call("listAlerts", { path: { account }, query: after === undefined ? {} : { after }, signal })
        }
        again={() => REFRESH_MS}
        empty={<NoAlerts isSet={settings.data?.is_set} open={open} />}
      >
        {(alerts) => (
          <>
            {settings.data?.is_set === false && (
              <Group justify="space-between">
                <Text c="dimmed">No thresholds are set.</Text>
                <Button onClick={open}>Set up alerts</Button>
              </Group>
            )}
            <History alerts={alerts} />
          </>
        )}
      </PagedRows>
      {isOpen && settings.data && <AlertSettingsDialog settings={settings.data} close={close} />}
    </Stack>
  );
}

/** @param isSet undefined if the role of the member does not include the settings */
function NoAlerts({ isSet, open }: { isSet: boolean | undefined; open: () => void }) {
  if (isSet === false) {
    return (
      <Empty title="Know before requests are refused">
        <Stack align="center">
          <Text size="sm">
            Suggested: when the balance is below $5, when a key has spent 80 and 100 % of its budget, and when
            20 % of an hour's requests have failed.
          </Text>
          <Button onClick={open}>Set up alerts</Button>
        </Stack>
      </Empty>
    );
  }
  return (
    <Empty title="No alerts in the last 90 days">
      A crossed threshold is shown here.
      {isSet === undefined && " An admin of the account sets the thresholds."}
    </Empty>
  );
}

function SendTest({ settings }: { settings: AlertSettingsRecord }) {
  const { account_id: account } = useAccount();
  const test = useAct({
    send: () => call("testAlert", { path: { account } }),
    changes: [["alerts", account]],
    done: "The test is on its way.",
  });
  if (!settings.by_mail && settings.webhook_url === null) return null;
  return (
    <Button variant="default" loading={test.isPending} onClick={() => test.mutate()}>
      Send test
    </Button>
  );
}

/** The settings in one sentence each. */
function Rules({ of: settings }: { of: AlertSettingsRecord }) {
  const { low_balance, budget_percents, failure_percent, by_mail, webhook_url, recipients } = settings;
  const rules = [
    low_balance === null ? undefined : `Balance below ${moneyText(low_balance)}`,
    budget_percents.length === 0 ? undefined : `Budgets at ${budget_percents.join(", ")} %`,
    failure_percent === null ? undefined : `${failure_percent} % of an hour's requests failed`,
  ].filter((rule) => rule !== undefined);
  const ways = [
    by_mail ? `mail to ${recipients.join(", ")}` : undefined,
    webhook_url === null ? undefined : `webhook to ${webhook_url}`,
  ].filter((way) => way !== undefined);
  if (rules.length === 0) return <Text c="dimmed">No thresholds are set.</Text>;
  return (
    <Stack gap={4}>
      <Group gap="xs">
        {rules.map((rule) => (
          <Badge key={rule} variant="light" tt="none">
            {rule}
          </Badge>
        ))}
      </Group>
      <Text size="sm" c="dimmed" className="break-anywhere">
        {ways.length === 0 ? "Shown on this page only." : `Sent as ${ways.join(" and ")}.`}
      </Text>
    </Stack>
  );
}

const KINDS: Readonly<Record<AlertRecord["kind"], { color: string; text: string }>> = {
  low_balance: { color: "red", text: "low balance" },
  budget: { color: "orange", text: "budget" },
  failure_rate: { color: "red", text: "failures" },
  top_up_failed: { color: "red", text: "top-ups off" },
  top_up_limit: { color: "orange", text: "top-up limit" },
  test: { color: "gray", text: "test" },
};

const SENT: Readonly<Record<AlertRecord["mail"] | AlertRecord["webhook"], string>> = {
  none: "–",
  pending: "is being sent",
  sent: "sent",
  limited: "not sent: too many today",
  refused: "address refused",
  failed: "not sent",
};

function History({ alerts }: { alerts: readonly AlertRecord[] }) {
  return (
    <RowsTable heads={["When", "Kind", "Alert", "Mail", "Webhook"]} minWidth={760}>
      {alerts.map((alert) => (
        <Table.Tr key={alert.id}>
          <Table.Td>
            <Time at={alert.at} />
          </Table.Td>
          <Table.Td>
            <Badge color={KINDS[alert.kind].color} variant="light">
              {KINDS[alert.kind].text}
            </Badge>
          </Table.Td>
          <Table.Td className="break-anywhere">{alert.text}</Table.Td>
          <Table.Td>{SENT[alert.mail]}</Table.Td>
          <Table.Td>{SENT[alert.webhook]}</Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}
