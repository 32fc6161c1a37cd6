// Automatic top-ups: the saved card, the rule in one sentence, and its dialog. A refused charge is named until the rule is changed.
import type { AutoTopUpRecord } from "@gr/console-api";
import { Alert, Anchor, Button, Card, Group, Stack, Switch, Text, Title } from "@mantine/core";
import { IconCreditCard } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { moneyText, shortDecimal } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { later } from "../../parts/later.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { useAccount } from "../../session.ts";
import { nameOf, type SavedCardRecord, useRuleChange } from "./auto-top-up-rule.ts";
import { Line } from "./balance-card.tsx";

const USUAL_MS = 30_000;
const RuleDialog = later(async () => (await import("./auto-top-up-dialogs.tsx")).RuleDialog);
const RemoveDialog = later(async () => (await import("./auto-top-up-dialogs.tsx")).RemoveDialog);

export function AutoTopUp() {
  const { account_id: account } = useAccount();
  const rule = useQuery({
    queryKey: ["auto top-up", account],
    queryFn: ({ signal }) => call("readAutoTopUp", { path: { account }, signal }),
    refetchInterval: USUAL_MS,
  });
  return (
    <Card component="section" aria-label="Auto top-up">
      <Loaded of={rule}>{(read) => <Content rule={read} />}</Loaded>
    </Card>
  );
}

function Content({ rule }: { rule: AutoTopUpRecord }) {
  const [dialog, setDialog] = useState<"rule" | "remove">();
  const close = () => setDialog(undefined);
  return (
    <Stack h="100%" gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          Auto top-up
        </Title>
        {rule.card !== null && rule.threshold !== null && <OnSwitch rule={rule} />}
      </Group>
      {rule.problem !== null && (
        <Alert color="red" title="Switched off after a failed charge" role="alert">
          {rule.problem}
        </Alert>
      )}
      <Text size="sm" c="dimmed">
        <RuleText rule={rule} />
      </Text>
      {rule.card !== null && <SavedCard card={rule.card} remove={() => setDialog("remove")} />}
      <Stack gap={6} mt="auto">
        {rule.threshold !== null && rule.monthly_limit !== null && (
          <Line name="This month (UTC)">
            {moneyText(rule.spent_this_month)} of {moneyText(rule.monthly_limit)}
          </Line>
        )}
        <LowBalanceMail />
      </Stack>
      {rule.card === null ? (
        <SaveCard>Save a card</SaveCard>
      ) : (
        <Button variant="default" onClick={() => setDialog("rule")}>
          {rule.threshold === null ? "Set up" : "Change the rule"}
        </Button>
      )}
      {dialog === "rule" && <RuleDialog rule={rule} close={close} />}
      {dialog === "remove" && <RemoveDialog close={close} />}
    </Stack>
  );
}

function RuleText({ rule: { card, threshold, amount, monthly_limit, is_on } }: { rule: AutoTopUpRecord }) {
  if (threshold === null || amount === null || monthly_limit === null) {
    return card === null
      ? "Save a card, and set when to charge it. Requests then do not stop for want of credit."
      : "Set a threshold, an amount and a limit for each month.";
  }
  const rule = `below ${moneyText(threshold)}, add ${moneyText(amount)}, at most ${moneyText(monthly_limit)} a month.`;
  return is_on ? `When the balance falls ${rule}` : `Off. The rule: when the balance falls ${rule}`;
}

function OnSwitch({ rule }: { rule: AutoTopUpRecord }) {
  const change = useRuleChange();
  const { threshold, amount, monthly_limit } = rule;
  const body = {
    threshold: shortDecimal(threshold ?? ""),
    amount: shortDecimal(amount ?? ""),
    monthly_limit: shortDecimal(monthly_limit ?? ""),
  };
  return (
    <Switch
      aria-label="Auto top-up"
      checked={change.isPending ? change.variables.is_on : rule.is_on}
      disabled={change.isPending}
      onChange={({ currentTarget }) => change.mutate({ ...body, is_on: currentTarget.checked })}
    />
  );
}

function SavedCard({ card, remove }: { card: SavedCardRecord; remove: () => void }) {
  return (
    <Group className="saved-card" gap="sm" justify="space-between">
      <Group gap="sm" wrap="nowrap">
        <IconCreditCard size={20} aria-hidden="true" />
        <div>
          <Text size="sm" fw={500}>
            {nameOf(card)}
          </Text>
          <Text size="xs" c="dimmed">
            Expires {card.expires}
          </Text>
        </div>
      </Group>
      <Group gap={4}>
        <SaveCard isSmall>Change</SaveCard>
        <Button variant="subtle" size="compact-xs" color="gray" onClick={remove}>
          Remove
        </Button>
      </Group>
    </Group>
  );
}

/** Leads to the page of Stripe that saves a card. */
function SaveCard({ children, isSmall = false }: { children: string; isSmall?: boolean }) {
  const { account_id: account } = useAccount();
  const open = useAct({
    send: () => call("saveCard", { path: { account } }),
    after: ({ url }) => window.location.assign(url),
  });
  return (
    <Button
      {...(isSmall ? { variant: "subtle", size: "compact-xs" } : {})}
      loading={open.isPending || open.isSuccess}
      onClick={() => open.mutate()}
    >
      {children}
    </Button>
  );
}

function LowBalanceMail() {
  const { account_id: account } = useAccount();
  const { data } = useQuery({
    queryKey: ["alert settings", account],
    queryFn: ({ signal }) => call("readAlertSettings", { path: { account }, signal }),
  });
  if (data === undefined) return null;
  const isMailed = data.by_mail && data.low_balance !== null;
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap">
      <Text size="sm" c="dimmed">
        Low balance mail
      </Text>
      <Text size="sm" className="figures">
        {isMailed ? `below ${moneyText(data.low_balance ?? "0")}` : "off"} ·{" "}
        <Anchor
          inherit
          renderRoot={(props) => <Link to="/accounts/$account/alerts" params={{ account }} {...props} />}
        >
          Edit
        </Anchor>
      </Text>
    </Group>
  );
}
