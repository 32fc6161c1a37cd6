// The time filter of a list: a preset that moves with the clock, or days in UTC. It is in the address.
import { Button, Group, Popover, Stack, TextInput } from "@mantine/core";
import { IconCalendar, IconCheck } from "@tabler/icons-react";
import { useState } from "react";
import { useFilter } from "./use-filter.ts";

const HOUR_MS = 3_600_000;
const RANGES = [
  { value: "1h", label: "Last hour", ms: HOUR_MS },
  { value: "24h", label: "Last 24 hours", ms: 24 * HOUR_MS },
  { value: "7d", label: "Last 7 days", ms: 7 * 24 * HOUR_MS },
  { value: "30d", label: "Last 30 days", ms: 30 * 24 * HOUR_MS },
] as const;

export type TimeSearch = Partial<Record<"range" | "from" | "to", string>>;

/** Returns the milliseconds of a preset; undefined for no preset. */
export function rangeMs(range: string | undefined): number | undefined {
  return RANGES.find(({ value }) => value === range)?.ms;
}

/** @param shortest value of the shortest preset */
export function TimeFilter({
  search: { range, from, to },
  shortest = "1h",
}: {
  search: TimeSearch;
  shortest?: (typeof RANGES)[number]["value"];
}) {
  const filter = useFilter();
  const [isOpen, setOpen] = useState(false);
  const offered = RANGES.slice(RANGES.findIndex(({ value }) => value === shortest));
  const preset = RANGES.find(({ value }) => value === range);
  const days = [from, to].some((day) => day !== undefined) && `${momentText(from)} – ${momentText(to)}`;
  const choose = (value: string | null) => {
    setOpen(false);
    void filter({ range: value, from: null, to: null });
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" shadow="md" trapFocus>
      <Popover.Target>
        <Button
          variant="default"
          size="xs"
          leftSection={<IconCalendar size={16} />}
          onClick={() => setOpen((open) => !open)}
        >
          {preset?.label ?? (days || "All time")}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap={4}>
          {[{ value: null, label: "All time" }, ...offered].map(({ value, label }) => (
            <Button
              key={label}
              variant="subtle"
              size="xs"
              justify="space-between"
              color="gray"
              aria-pressed={(range ?? null) === value && !days}
              rightSection={(range ?? null) === value && !days && <IconCheck size={14} />}
              onClick={() => choose(value)}
            >
              {label}
            </Button>
          ))}
          <Group gap="xs" mt={4}>
            <Day name="from" label="From (UTC)" value={from} />
            <Day name="to" label="To (UTC)" value={to} />
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

function Day({ name, label, value = "" }: { name: "from" | "to"; label: string; value: string | undefined }) {
  const filter = useFilter();
  return (
    <TextInput
      type="date"
      size="xs"
      label={label}
      value={value.slice(0, 10)}
      onChange={({ currentTarget }) => void filter({ [name]: currentTarget.value, range: null })}
    />
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
