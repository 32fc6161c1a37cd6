// Controls of the page: the time, the groups, and filters for key, model and provider. All are in the address.
import type { ActivityBucket, ActivityGroup } from "@gr/console-api";
import { Button, Group, Popover, SegmentedControl, Select, Stack, TextInput } from "@mantine/core";
import { IconCalendar } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { modelsQuery } from "../../models-query.ts";
import { TypeAheadChip } from "../../parts/filters/filter-chips.tsx";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { useKeyNames, useModelNames } from "../../parts/lists/names-of.ts";
import { RangeSwitch } from "./range-switch.tsx";
import { PRESETS, type UsageRange, type UsageSearch } from "./usage-range.ts";

const GROUPS: readonly { value: ActivityGroup; label: string }[] = [
  { value: "model", label: "By model" },
  { value: "key", label: "By key" },
  { value: "member", label: "By member" },
  { value: "provider", label: "By provider" },
  { value: "kind", label: "By type" },
];
const BUCKETS: Readonly<Record<ActivityBucket, string>> = {
  ...{ hour: "Per hour", day: "Per day", week: "Per week", month: "Per month" },
};
const FILTERS = ["key_id", "model", "provider"] as const;
export const NO_FILTERS = Object.fromEntries(FILTERS.map((name) => [name, null]));
export const isFiltered = (search: UsageSearch) => FILTERS.some((name) => search[name] !== undefined);

/** Columns with the sum of all columns up to them. */
const SUM = "sum";

function columnsFilter(value: string, { buckets }: UsageRange): Record<string, string | null> {
  if (value === SUM) return { sum: "1" };
  return { sum: null, bucket: value === buckets[0] ? null : value };
}

export function groupOf({ group_by: groupBy }: UsageSearch): ActivityGroup {
  return GROUPS.find(({ value }) => value === groupBy)?.value ?? "model";
}

export function RangeControl({ search, range }: { search: UsageSearch; range: UsageRange }) {
  return (
    <>
      <RangeSwitch presets={PRESETS} chosen={range.preset} />
      <DaysControl search={search} isChosen={range.preset === undefined} />
    </>
  );
}

function DaysControl({ search: { from, to }, isChosen }: { search: UsageSearch; isChosen: boolean }) {
  const filter = useFilter();
  const [isOpen, setOpen] = useState(false);
  const [days, setDays] = useState({ from: from ?? "", to: to ?? "" });
  const isWrong = days.from !== "" && days.to !== "" && days.from > days.to;
  const apply = () => {
    if (days.from === "" || days.to === "" || isWrong) return;
    setOpen(false);
    void filter({ ...days, range: null, bucket: null });
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" shadow="md" trapFocus>
      <Popover.Target>
        <Button
          variant={isChosen ? "light" : "default"}
          leftSection={<IconCalendar size={16} />}
          onClick={() => setOpen((open) => !open)}
        >
          {isChosen ? `${from} – ${to}` : "Custom"}
        </Button>
      </Popover.Target>
      <Popover.Dropdown>
        <Stack gap="xs">
          <Group gap="xs" align="flex-start">
            {(["from", "to"] as const).map((name) => (
              <TextInput
                key={name}
                type="date"
                size="sm"
                label={name === "from" ? "First day (UTC)" : "Last day (UTC)"}
                value={days[name]}
                error={name === "from" && isWrong && "It's after the last day"}
                onChange={({ currentTarget: { value } }) =>
                  setDays((before) => ({ ...before, [name]: value }))
                }
              />
            ))}
          </Group>
          <Button size="xs" onClick={apply} disabled={days.from === "" || days.to === "" || isWrong}>
            Show these days
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}

/** @param children title of the chart */
export function ChartControls({
  search,
  range,
  canSum,
  children,
}: {
  search: UsageSearch;
  range: UsageRange;
  canSum: boolean;
  children: ReactNode;
}) {
  const filter = useFilter();
  const keys = useKeyNames();
  const models = useModelNames();
  const { data: catalogue = [] } = useQuery(modelsQuery);
  const providers = [...new Set(catalogue.flatMap((model) => model.providers))].toSorted();
  const choices = providers.map((name) => ({ value: name, label: name }));
  const columns = [
    ...range.buckets.map((value) => ({ value: value as string, label: BUCKETS[value] })),
    ...(canSum ? [{ value: SUM, label: "Cumulative" }] : []),
  ];
  return (
    <Group gap="xs" justify="space-between" role="search">
      <Group gap="xs">
        {children}
        <Select
          aria-label="Groups"
          size="xs"
          w={130}
          allowDeselect={false}
          value={groupOf(search)}
          data={[...GROUPS]}
          onChange={(value) => void filter({ group_by: value === "model" ? null : value })}
        />
        <TypeAheadChip name="key_id" label="Key" value={search.key_id} choices={keys.choices} />
        <TypeAheadChip name="model" label="Model" value={search.model} choices={models.choices} isFree />
        <TypeAheadChip name="provider" label="Provider" value={search.provider} choices={choices} isFree />
        {isFiltered(search) && (
          <Button variant="subtle" size="xs" color="gray" onClick={() => void filter(NO_FILTERS)}>
            Clear filters
          </Button>
        )}
      </Group>
      {columns.length > 1 && (
        <SegmentedControl
          aria-label="Columns"
          size="xs"
          value={canSum && search.sum === "1" ? SUM : range.bucket}
          data={columns}
          onChange={(value) => void filter(columnsFilter(value, range))}
        />
      )}
    </Group>
  );
}
