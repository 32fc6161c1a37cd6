// Tiles of the home page: the balance with the way to more, and the sums of the range beside those of the same time before.
import type { ActivityAnswer, HomeRecord } from "@gr/console-api";
import { Button, Card, Group, Skeleton, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useDeferredValue } from "react";
import { Sparkline, SparklinePlace } from "../../../parts/charts/sparkline.tsx";
import { moneyText } from "../../../parts/figures/figure-text.ts";
import { Balance } from "../../../parts/figures/figures.tsx";
import { useFiguresBefore } from "../../usage/figures-before.ts";
import { factsOf } from "../../usage/metric-facts.ts";
import { METRIC_LOOKS, measure } from "../../usage/usage-figures.ts";
import { useHomeActivity, useHomePreset } from "./home-activity.ts";

/** Measures with the places of their colours. */
const MEASURES = [
  ["spend", 1],
  ["requests", 0],
  ["errors", 4],
] as const;

export function HomeTiles({ account, home }: { account: string; home: HomeRecord }) {
  const preset = useHomePreset();
  const { data, error } = useHomeActivity();
  // React yields to input and painting while it draws the figures.
  const activity = useDeferredValue(data);
  const before = useFiguresBefore(activity);
  const notes = { spend: `${moneyText(home.spend.today)} today`, requests: "", errors: "" };
  return (
    <div className="home-tiles">
      <BalanceTile account={account} home={home} />
      {MEASURES.map(([metric, rank]) => {
        const facts = activity && factsOf(metric, activity.total, before);
        const note = [facts?.note, notes[metric]].filter((part) => part !== undefined && part !== "");
        return (
          <Tile
            key={metric}
            name={METRIC_LOOKS[metric].label}
            time={preset?.label ?? ""}
            note={note.join(" · ")}
          >
            {facts === undefined && error === null ? (
              <Skeleton height={31} width="50%" aria-busy="true" />
            ) : (
              <Text className="tile-value" title={facts?.exact}>
                {facts?.value ?? "–"}
              </Text>
            )}
            {activity === undefined ? (
              <SparklinePlace />
            ) : (
              <Sparkline values={valuesOf(activity, metric)} rank={rank} />
            )}
          </Tile>
        );
      })}
    </div>
  );
}

/** Sums of all groups by bucket. */
function valuesOf({ buckets, totals }: ActivityAnswer, metric: (typeof MEASURES)[number][0]): number[] {
  const found = new Map(totals.map((total) => [total.begins_at, measure(metric, total)]));
  return buckets.map((begin) => found.get(begin) ?? 0);
}

function BalanceTile({
  account,
  home: { balance, held, days_left: days },
}: {
  account: string;
  home: HomeRecord;
}) {
  const lasts =
    days === null
      ? "No spend in the last 7 days"
      : days > 365
        ? "Lasts longer than a year"
        : `About ${days} days left at the current rate`;
  const credits = (props: object) => <Link to="/accounts/$account/credits" params={{ account }} {...props} />;
  return (
    <Tile
      name="Balance"
      note={
        <>
          {lasts}
          {Number(held) > 0 && <div>{moneyText(held)} held by running requests</div>}
        </>
      }
    >
      <Text className="tile-value" component="div">
        <Balance usd={balance} />
      </Text>
      <Group gap="xs" grow mt="auto" pt="xs">
        <Button size="xs" leftSection={<IconPlus size={14} aria-hidden="true" />} renderRoot={credits}>
          Top up
        </Button>
        <Button size="xs" variant="default" renderRoot={credits}>
          Ledger
        </Button>
      </Group>
    </Tile>
  );
}

interface TileProps {
  readonly name: string;
  readonly time?: string;
  readonly note: ReactNode;
  /** The value, and parts below the note. */
  readonly children: readonly [value: ReactNode, below: ReactNode];
}

function Tile({ name, time, note, children: [value, below] }: TileProps) {
  return (
    <Card padding="md" className="home-tile" role="group" aria-label={name}>
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm" fw={500} className="tile-name">
          {name}
        </Text>
        {time !== undefined && (
          <Text size="xs" c="dimmed">
            {time}
          </Text>
        )}
      </Group>
      {value}
      <Text size="xs" c="dimmed" mih={16} component="div">
        {note}
      </Text>
      {below}
    </Card>
  );
}
