// The opened part of the time filter: the presets, and two days.
import { Button, Group, Popover, Stack, TextInput } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { cloneElement, type ReactElement } from "react";
import type { MenuButtonProps } from "../menus/later-menu.tsx";
import { useOpened } from "../menus/use-opened.ts";
import type { TimeFilterProps } from "./time-filter.tsx";
import { RANGES } from "./time-ranges.ts";
import { useFilter } from "./use-filter.ts";

export interface TimeMenuProps extends Required<TimeFilterProps> {
  readonly button: ReactElement<MenuButtonProps>;
}

export function TimeMenu({ search: { range, from, to }, shortest, button }: TimeMenuProps) {
  const filter = useFilter();
  const { target, isOpen, setOpen } = useOpened();
  const offered = RANGES.slice(RANGES.findIndex(({ value }) => value === shortest));
  const hasDays = from !== undefined || to !== undefined;
  const choose = (value: string | null) => {
    setOpen(false);
    void filter({ range: value, from: null, to: null });
  };
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-start" shadow="md" trapFocus>
      <Popover.Target>
        {cloneElement(button, { ref: target, onClick: () => setOpen(!isOpen) })}
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
              aria-pressed={(range ?? null) === value && !hasDays}
              rightSection={(range ?? null) === value && !hasDays && <IconCheck size={14} />}
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
