// The group table has the figures of each group, with a row for the total. A row leads to the requests behind it.
import type { ActivityFigures, ActivityGroup } from "@gr/console-api";
import { Anchor, Group, Table, Text } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import { colorOf, RankDot } from "../../parts/charts/time-chart.tsx";
import {
  compactText,
  countText,
  moneyText,
  requestMoneyText,
  secondsText,
} from "../../parts/figures/figure-text.ts";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useAccount } from "../../session.ts";
import { amountsThatAddUp, percentText } from "./usage-figures.ts";
import type { ShownGroup } from "./usage-series.ts";

const PHONE = "(max-width: 48em)";
const HEADS: Readonly<Record<ActivityGroup, string>> = {
  ...{ model: "Model", key: "Key", member: "Member", provider: "Provider", kind: "Type" },
};

export interface GroupTableProps {
  readonly groupBy: ActivityGroup;
  readonly groups: readonly ShownGroup[];
  readonly total: ActivityFigures;
  /** Filter of the log for a group. */
  readonly logOf: (group: string | undefined) => Record<string, string>;
}

export function GroupTable({ groupBy, groups, total, logOf }: GroupTableProps) {
  const isPhone = useMediaQuery(PHONE) === true;
  const spend = Number(total.spend);
  const texts = amountsThatAddUp(
    total.spend,
    groups.map((group) => group.spend),
  );
  const heads = [HEADS[groupBy], "Share", "Spend", "Requests", "Mean cost", "Tokens", "Latency", "Failed"];
  if (isPhone) {
    return (
      <ul className="usage-cards">
        {groups.map((group, at) => (
          <GroupCard
            key={group.group ?? "others"}
            {...{ group, logOf, share: shareOf(group, spend), amount: texts.amounts[at] ?? "" }}
          />
        ))}
        <li>
          <Group justify="space-between" wrap="nowrap" fw={600}>
            <span>Total</span>
            <span className="figures">{texts.total}</span>
          </Group>
        </li>
      </ul>
    );
  }
  return (
    <RowsTable heads={heads} figures={6} minWidth={820}>
      {groups.map((group, at) => {
        const share = shareOf(group, spend);
        return (
          <Table.Tr key={group.group ?? "others"}>
            <Table.Td maw={300}>
              <GroupName group={group} logOf={logOf} />
            </Table.Td>
            <Table.Td w={170}>
              <Group gap={10} wrap="nowrap">
                <ShareTrack rank={group.rank} share={share} />
                <Text span size="xs" c="dimmed" className="figures" w={34} ta="right">
                  {Math.round(share * 100)}%
                </Text>
              </Group>
            </Table.Td>
            <Cells of={group} spend={texts.amounts[at] ?? ""} />
          </Table.Tr>
        );
      })}
      <Table.Tr className="total" fw={600}>
        <Table.Td>Total</Table.Td>
        <Table.Td />
        <Cells of={total} spend={texts.total} />
      </Table.Tr>
    </RowsTable>
  );
}

function shareOf(group: ShownGroup, spend: number): number {
  return spend === 0 ? 0 : Number(group.spend) / spend;
}

type LogOf = GroupTableProps["logOf"];

function GroupName({ group: { group, name, rank }, logOf }: { group: ShownGroup; logOf: LogOf }) {
  const { account_id: account } = useAccount();
  return (
    <Group gap={10} wrap="nowrap" miw={0}>
      <RankDot rank={rank} />
      {group === undefined ? (
        <Text inherit truncate>
          {name}
        </Text>
      ) : (
        <Anchor
          inherit
          underline="hover"
          c="inherit"
          truncate
          title={name}
          renderRoot={(props) => (
            <Link
              to="/accounts/$account/logs"
              params={{ account }}
              search={logOf(group)}
              preload={false}
              {...props}
            />
          )}
        >
          {name}
        </Anchor>
      )}
    </Group>
  );
}

function ShareTrack({ rank, share }: { rank: number; share: number }) {
  return (
    <div className="share-track">
      <div style={{ background: colorOf(rank), width: `${share * 100}%` }} />
    </div>
  );
}

/** A row on a phone: name and amount, then the other figures in one line. */
function GroupCard(props: { group: ShownGroup; logOf: LogOf; share: number; amount: string }) {
  const { group, logOf, share, amount } = props;
  const { requests, errors, latency } = group;
  const tokens = group.input_tokens + group.output_tokens;
  const facts = [
    `${countText(requests)} requests`,
    ...(tokens === 0 ? [] : [`${compactText(tokens)} tokens`]),
    ...(latency === null ? [] : [secondsText(latency.median)]),
    ...(errors === 0 ? [] : [`${percentText(errors / requests)} failed`]),
  ];
  return (
    <li>
      <Group justify="space-between" wrap="nowrap" gap="xs">
        <GroupName group={group} logOf={logOf} />
        <Text fw={500} className="figures">
          {amount}
        </Text>
      </Group>
      <ShareTrack rank={group.rank} share={share} />
      <Text size="xs" c="dimmed">
        {facts.join(" · ")}
      </Text>
    </li>
  );
}

function Cells({ of: figures, spend }: { of: ActivityFigures; spend: string }) {
  const { requests, errors, latency } = figures;
  const tokens = figures.input_tokens + figures.output_tokens;
  const paid = requests - errors;
  const cells = [
    { name: "requests", text: countText(requests) },
    { name: "mean", text: paid === 0 ? "–" : requestMoneyText((Number(figures.spend) / paid).toFixed(6)) },
    {
      name: "tokens",
      text: tokens === 0 ? "–" : compactText(tokens),
      title: tokens === 0 ? undefined : countText(tokens),
    },
    { name: "latency", text: latency === null ? "–" : secondsText(latency.median) },
    { name: "failed", text: requests === 0 ? "–" : percentText(errors / requests), title: countText(errors) },
  ];
  return (
    <>
      <Table.Td ta="right" className="figures" title={moneyText(figures.spend)}>
        {spend}
      </Table.Td>
      {cells.map(({ name, text, title }) => (
        <Table.Td key={name} ta="right" className="figures" title={title}>
          {text}
        </Table.Td>
      ))}
    </>
  );
}
