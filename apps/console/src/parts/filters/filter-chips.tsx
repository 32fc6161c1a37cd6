// Filter chips are buttons for filters of a list: dashed without a value, filled with one, and removed by a cross.
import { Button } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { lazy, type ReactElement } from "react";
import { LaterMenu, type MenuButtonProps } from "../menus/later-menu.tsx";
import { useFilter } from "./use-filter.ts";

const load = () => import("./filter-menus.tsx");
const ChoiceMenu = lazy(async () => ({ default: (await load()).ChoiceMenu }));
const TypeAheadMenu = lazy(async () => ({ default: (await load()).TypeAheadMenu }));

export interface Choice {
  readonly value: string;
  readonly label: string;
}

export interface ChipProps {
  readonly name: string;
  readonly label: string;
  readonly value: string | undefined;
  readonly choices: readonly Choice[];
}

/** A few choices, as a menu. */
export function ChoiceChip(chip: ChipProps) {
  return (
    <Chip {...chip}>
      {(button) => (
        <LaterMenu button={button} load={load}>
          {(target) => <ChoiceMenu {...chip} button={target} />}
        </LaterMenu>
      )}
    </Chip>
  );
}

/** Many choices, found by typing. @param isFree a typed value that is no choice may be used, too */
export function TypeAheadChip({ isFree = false, ...chip }: ChipProps & { readonly isFree?: boolean }) {
  return (
    <Chip {...chip}>
      {(button) => (
        <LaterMenu button={button} load={load} popup="listbox">
          {(target) => <TypeAheadMenu {...chip} isFree={isFree} button={target} />}
        </LaterMenu>
      )}
    </Chip>
  );
}

/** A dashed button without a value; with one, a filled button and a cross. */
function Chip({
  name,
  label,
  value,
  choices,
  children,
}: ChipProps & { children: (button: ReactElement<MenuButtonProps>) => ReactElement }) {
  const filter = useFilter();
  if (value === undefined) {
    return children(
      <Button variant="default" size="xs" className="filter-chip" leftSection={<IconPlus size={14} />}>
        {label}
      </Button>,
    );
  }
  const shown = choices.find((choice) => choice.value === value)?.label ?? value;
  return (
    <Button.Group maw="100%">
      {children(
        <Button variant="light" size="xs" maw={240}>
          {label}: {shown}
        </Button>,
      )}
      <Button
        variant="light"
        size="xs"
        px={6}
        aria-label={`Remove the filter ${label}`}
        onClick={() => void filter({ [name]: null })}
      >
        <IconX size={14} />
      </Button>
    </Button.Group>
  );
}
