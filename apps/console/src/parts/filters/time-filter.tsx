// The time filter of a list: a preset that moves with the clock, or days in UTC. It is in the address.
import { Button } from "@mantine/core";
import { IconCalendar } from "@tabler/icons-react";
import { lazy } from "react";
import { LaterMenu } from "../menus/later-menu.tsx";
import { RANGES, type TimeSearch } from "./time-ranges.ts";

const load = () => import("./time-menu.tsx");
const TimeMenu = lazy(async () => ({ default: (await load()).TimeMenu }));

export interface TimeFilterProps {
  readonly search: TimeSearch;
  /** Value of the shortest preset. */
  readonly shortest?: (typeof RANGES)[number]["value"];
}

export function TimeFilter({ search, shortest = "1h" }: TimeFilterProps) {
  const { range, from, to } = search;
  const preset = RANGES.find(({ value }) => value === range);
  const hasDays = from !== undefined || to !== undefined;
  const button = (
    <Button variant="default" size="xs" leftSection={<IconCalendar size={16} />}>
      {preset?.label ?? (hasDays ? `${momentText(from)} – ${momentText(to)}` : "All time")}
    </Button>
  );
  return (
    <LaterMenu button={button} load={load} popup="dialog">
      {(target) => <TimeMenu search={search} shortest={shortest} button={target} />}
    </LaterMenu>
  );
}

/** A day as it is; a moment in the own zone. */
function momentText(value: string | undefined): string {
  if (value === undefined) return "…";
  if (!value.includes("T")) return value;
  const time = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" } as const;
  // A begin is the last millisecond before it.
  return new Date(Date.parse(value) + 1).toLocaleString("en", { month: "short", day: "numeric", ...time });
}
