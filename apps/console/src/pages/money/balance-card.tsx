// The balance card shows the balance in whole cents and exactly, the part that running requests hold, and the rest.
import { Card, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/console-client.ts";
import {
  differenceUsd,
  moneyText,
  requestMoneyText,
  wholeCentsText,
} from "../../parts/figures/figure-text.ts";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { useAccount } from "../../session.ts";

const USUAL_MS = 30_000;
const LONG_DAYS = 365;

export function BalanceCard() {
  const { account_id: account } = useAccount();
  const home = useQuery({
    queryKey: ["home", account],
    queryFn: ({ signal }) => call("readHome", { path: { account }, signal }),
    refetchInterval: USUAL_MS,
  });
  return (
    <Card component="section" aria-label="Balance">
      <Loaded of={home}>
        {({ balance, held, days_left, spend }) => (
          <Stack h="100%" gap="sm">
            <Group justify="space-between">
              <Title order={2} size="h4" c="dimmed" fw={500}>
                Balance
              </Title>
              <Text size="xs" c="dimmed" className="figures">
                exactly {moneyText(balance)}
              </Text>
            </Group>
            <div>
              <Text className="figures balance-figure">{wholeCentsText(balance)}</Text>
              <Text size="sm" c="dimmed">
                {lastsText(days_left)}
              </Text>
            </div>
            <Stack gap={6} mt="auto">
              <Line name="Held by running requests">{requestMoneyText(held)}</Line>
              <Line name="Spendable now" isStrong>
                {wholeCentsText(differenceUsd(balance, held))}
              </Line>
              <Line name="Spent in the last 30 days">{moneyText(spend.last_30_days)}</Line>
            </Stack>
          </Stack>
        )}
      </Loaded>
    </Card>
  );
}

function lastsText(days: number | null): string {
  if (days === null) return "No spend in the last 7 days";
  if (days > LONG_DAYS) return "Lasts longer than a year";
  return days === 1
    ? "About one day left at the current rate"
    : `About ${days} days left at the current rate`;
}

/** A name and its amount. */
export function Line(props: { name: string; isStrong?: boolean; children: ReactNode }) {
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap">
      <Text size="sm" c="dimmed">
        {props.name}
      </Text>
      <Text size="sm" className="figures" {...(props.isStrong && { fw: 600 })}>
        {props.children}
      </Text>
    </Group>
  );
}
