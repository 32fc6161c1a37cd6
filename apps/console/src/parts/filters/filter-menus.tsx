// The opened parts of filters: a menu of a few choices, and a list of many that typing shortens.
import { Combobox, Menu, useCombobox } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { cloneElement, type ReactElement, useEffect, useRef, useState } from "react";
import type { MenuButtonProps } from "../menus/later-menu.tsx";
import { OpenedMenu } from "../menus/opened-menu.tsx";
import type { ChipProps } from "./filter-chips.tsx";
import { useFilter } from "./use-filter.ts";

/** Options of a list in the page; typing finds the others. */
const MOST_OPTIONS = 50;

interface OpenedProps extends ChipProps {
  readonly button: ReactElement<MenuButtonProps>;
}

export function ChoiceMenu({ name, value, choices, button }: OpenedProps) {
  const filter = useFilter();
  return (
    <OpenedMenu button={button} side="start">
      {choices.map((choice) => (
        <Menu.Item
          key={choice.value}
          rightSection={choice.value === value && <IconCheck size={14} />}
          onClick={() => void filter({ [name]: choice.value })}
        >
          {choice.label}
        </Menu.Item>
      ))}
    </OpenedMenu>
  );
}

export function TypeAheadMenu({
  name,
  label,
  value,
  choices,
  isFree,
  button,
}: OpenedProps & { readonly isFree: boolean }) {
  const filter = useFilter();
  const [text, setText] = useState("");
  const target = useRef<HTMLButtonElement>(null);
  const box = useCombobox({
    onDropdownOpen: () => box.focusSearchInput(),
    onDropdownClose: () => {
      box.resetSelectedOption();
      setText("");
    },
  });
  const { openDropdown } = box;
  useEffect(() => {
    target.current?.focus();
    openDropdown();
  }, [openDropdown]);
  const asked = text.trim().toLowerCase();
  const found = choices.filter((choice) => `${choice.label} ${choice.value}`.toLowerCase().includes(asked));
  const isOther = isFree && asked !== "" && choices.every((choice) => choice.value !== asked);
  return (
    <Combobox
      store={box}
      width={320}
      position="bottom-start"
      shadow="md"
      onOptionSubmit={(chosen) => {
        void filter({ [name]: chosen });
        box.closeDropdown();
      }}
    >
      <Combobox.Target withAriaAttributes={false}>
        {cloneElement(button, { ref: target, onClick: () => box.toggleDropdown() })}
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          aria-label={`Search for: ${label}`}
          placeholder="Type to search"
          value={text}
          onChange={({ currentTarget }) => {
            setText(currentTarget.value);
            box.resetSelectedOption();
          }}
        />
        <Combobox.Options mah={280} style={{ overflowY: "auto" }}>
          {found.slice(0, MOST_OPTIONS).map((choice) => (
            <Combobox.Option key={choice.value} value={choice.value} active={choice.value === value}>
              {choice.label}
            </Combobox.Option>
          ))}
          {isOther && <Combobox.Option value={text.trim()}>Use “{text.trim()}”</Combobox.Option>}
          {found.length === 0 && !isOther && <Combobox.Empty>No match</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}
