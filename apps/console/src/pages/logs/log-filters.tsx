// Filters of the log in one line: an id, the time, and chips for kind, state, model and key. All are in the address.
import { Button, Group, Popover, Stack, TextInput } from "@mantine/core";
import { IconCalendar, IconCheck, IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { type Choice, ChoiceChip, TypeAheadChip } from "../../parts/lists/filter-chips.tsx";
import { useFilter } from "../../parts/lists/filters.tsx";
import { useKeyNames, useModelNames } from "./names-of.ts";

export type LogSearch = Partial<
  Record<"request" | "view" | "kind" | "status" | "model" | "key_id" | "range" | "from" | "to", string>
>;

const KINDS: readonly Choice[] = [
  { value: "text", label: "Text" },
  { value: "image", label: "Images" },
  { value: "video", label: "Videos" },
  { value: "media", label: "Images and videos" },
];
const STATUSES: readonly Choice[] = [
  { value: "succeeded", label: "Succeeded" },
  { value: "running", label: "Running" },
  { value: "failed", label: "Failed" },
  { value: "blocked", label: "Blocked" },
  { value: "cancelled", label: "Cancelled" },
];
const HOUR_MS = 3_600_000;
const RANGES = [
  { value: "1h", label: "Last hour", ms: HOUR_MS },
  { value: "24h", label: "Last 24 hours", ms: 24 * HOUR_MS },
  { value: "7d", label: "Last 7 days", ms: 7 * 24 * HOUR_MS },
  { value: "30d", label: "Last 30 days", ms: 30 * 24 * HOUR_MS },
] as const;
/** Characters of 2026-11-24, and of 2026-11-24T12:00. */
const [DAY_CHARACTERS, TIME_CHARACTERS] = [10, 16];
const FILTERS = ["kind", "status", "model", "key_id", "range", "from", "to"] as const;
/** An id as in the header x-request-id. */
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isFiltered(search: LogSearch): boolean {
  return FILTERS.some((name) => search[name] !== undefined);
}

export const NO_FILTERS = Object.fromEntries(FILTERS.map((name) => [name, null]));

/** Returns the times of a query now: the range of a preset moves with the clock. */
export function timesOf({ range, from, to }: LogSearch, now: number): { from?: string; to?: string } {
  const preset = RANGES.find(({ value }) => value === range);
  if (preset !== undefined) return { from: new Date(now - preset.ms).toISOString() };
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

export function LogFilters({ search }: { search: LogSearch }) {
  const filter = useFilter();
  const keys = useKeyNames();
  const models = useModelNames();
  return (
    <Group gap="xs" role="search">
      <FindById />
      <TimeFilter search={search} />
      <ChoiceChip name="kind" label="Type" value={search.kind} choices={KINDS} />
      <ChoiceChip name="status" label="Status" value={search.status} choices={STATUSES} />
      <TypeAheadChip name="model" label="Model" value={search.model} choices={models.choices} isFree />
      <TypeAheadChip name="key_id" label="Key" value={search.key_id} choices={keys.choices} />
      {isFiltered(search) && (
        <Button variant="subtle" size="xs" color="gray" onClick={() => void filter(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

/** A pasted or typed id opens its request. */
function FindById() {
  const filter = useFilter();
  const [text, setText] = useState("");
  const [isWrong, setWrong] = useState(false);
  const find = (value: string) => {
    setText(value);
    // A pasted text may have words around the id.
    const id = value.split(/[^0-9a-f-]/i).find((part) => ID.test(part));
    setWrong(false);
    if (id === undefined) return false;
    setText("");
    void filter({ request: id.toLowerCase() }, { isStep: true });
    return true;
  };
  return (
    <TextInput
      aria-label="Find a request by its ID"
      placeholder="Paste a request ID"
      leftSection={<IconSearch size={16} />}
      size="xs"
      w={{ base: "100%", xs: 230 }}
      value={text}
      error={isWrong && "An ID is like 01940c1e-…, from x-request-id"}
      onChange={({ currentTarget }) => void find(currentTarget.value)}
      onKeyDown={({ key }) => {
        if (key === "Enter" && text.trim() !== "") setWrong(!find(text));
      }}
    />
  );
}

function TimeFilter({ search: { range, from, to } }: { search: LogSearch }) {
  const filter = useFilter();
  const [isOpen, setOpen] = useState(false);
  const preset = RANGES.find(({ value }) => value === range);
  const days =
    [from, to].some((time) => time !== undefined) &&
    `${timeOrDay(from)} – ${timeOrDay(to)}${zoneOf(from, to)}`;
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
          {[{ value: null, label: "All time" }, ...RANGES].map(({ value, label }) => (
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
      value={value.slice(0, DAY_CHARACTERS)}
      onChange={({ currentTarget }) => void filter({ [name]: currentTarget.value, range: null })}
    />
  );
}

/** A day as it is; of a moment, date and time without seconds. */
function timeOrDay(time: string | undefined): string {
  return time === undefined ? "…" : time.slice(0, TIME_CHARACTERS).replace("T", " ");
}

function zoneOf(...times: (string | undefined)[]): string {
  return times.some((time) => time?.endsWith("Z")) ? " UTC" : "";
}
