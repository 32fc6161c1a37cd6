// The attention block of Home: open alerts, and budgets near their limit without one. Each line leads to the page that helps.
import type { HomeRecord, KeyRecord } from "@gr/console-api";
import { Anchor, Badge, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle, IconCreditCardOff, IconKey, IconWallet } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ComponentType, ReactNode } from "react";
import { NEARLY_USED } from "../../parts/figures/budget-share.ts";
import { moneyText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { Empty } from "../../parts/lists/page-states.tsx";
import { Section } from "../../parts/section.tsx";
import { useAccount } from "../../session.ts";
import { limitedKeys, usedPercent, useLimitedKeys } from "./limited-keys.ts";

type OpenAlert = HomeRecord["open_alerts"][number];
interface Help {
  readonly to: "/accounts/$account/credits" | "/accounts/$account/keys" | "/accounts/$account/logs";
  readonly search?: Readonly<Record<string, string>>;
  readonly text: string;
  readonly icon: ComponentType<{ size: number; color: string }>;
}

const HELP: Readonly<Record<OpenAlert["kind"], Help>> = {
  low_balance: { to: "/accounts/$account/credits", text: "Top up", icon: IconWallet },
  budget: { to: "/accounts/$account/keys", text: "Raise the budget", icon: IconKey },
  failure_rate: {
    ...{ to: "/accounts/$account/logs", search: { status: "failed" } },
    ...{ text: "See failed requests", icon: IconAlertTriangle },
  },
  top_up_failed: { to: "/accounts/$account/credits", text: "Check the card", icon: IconCreditCardOff },
  top_up_limit: { to: "/accounts/$account/credits", text: "Top up", icon: IconCreditCardOff },
  test: { to: "/accounts/$account/credits", text: "Credits", icon: IconAlertTriangle },
};
const MOST = 5;

export function Attention({ home: { open_alerts: alerts } }: { home: HomeRecord }) {
  const { account_id: account } = useAccount();
  const { data: keys } = useLimitedKeys();
  const reported = new Set(alerts.map(({ key_id }) => key_id));
  const near = limitedKeys(keys?.data ?? []).filter(
    (key) => usedPercent(key) >= NEARLY_USED && !reported.has(key.id),
  );
  const count = alerts.length + near.length;
  const link = count === 0 ? <AllAlerts account={account} /> : <Badge color="gray">{count}</Badge>;
  return (
    <Section title="Needs attention" link={link}>
      {count === 0 ? (
        <Empty title="Nothing needs attention">
          Open alerts and budgets near their limit are shown here.
        </Empty>
      ) : (
        <Stack gap="md">
          {alerts.slice(0, MOST).map((alert) => (
            <Line key={alert.id} help={HELP[alert.kind]}>
              {alert.text}{" "}
              <Text span size="xs" c="dimmed">
                <Time at={alert.at} isShort />
              </Text>
            </Line>
          ))}
          {near.slice(0, Math.max(0, MOST - alerts.length)).map((key) => (
            <Line key={key.id} help={HELP.budget} isNear>
              {nearText(key)}
            </Line>
          ))}
          {count > MOST && <AllAlerts account={account} />}
        </Stack>
      )}
    </Section>
  );
}

function nearText(key: KeyRecord): string {
  const spent = `${moneyText(key.period_spend)} of ${moneyText(key.spend_limit ?? "0")}`;
  const used = usedPercent(key);
  return used >= 100
    ? `${key.name} has reached its budget: ${spent}.`
    : `${key.name} is at ${used} %: ${spent}.`;
}

function AllAlerts({ account }: { account: string }) {
  return (
    <Anchor
      size="sm"
      renderRoot={(props) => <Link to="/accounts/$account/alerts" params={{ account }} {...props} />}
    >
      All alerts
    </Anchor>
  );
}

function Line({ help, isNear = false, children }: { help: Help; isNear?: boolean; children: ReactNode }) {
  const { account_id: account } = useAccount();
  const { icon: Icon, to, search = {}, text } = help;
  const color = isNear ? "var(--mantine-color-yellow-7)" : "var(--mantine-color-red-6)";
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <Icon size={18} color={color} />
      <Stack gap={2} flex={1} miw={0}>
        <Text size="sm" className="break-anywhere">
          {children}
        </Text>
        <Anchor
          size="sm"
          renderRoot={(props) => <Link to={to} params={{ account }} search={search} {...props} />}
        >
          {text}
        </Anchor>
      </Stack>
    </Group>
  );
}
