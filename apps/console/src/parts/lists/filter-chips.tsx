// Filter chips are buttons for filters of a list: dashed without a value, filled with one, and removed by a cross.
import { Button, Combobox, Menu, useCombobox } from "@mantine/core";
import { IconCheck, IconPlus, IconX } from "@tabler/icons-react";
import { type ReactElement, useState } from "react";
import { useFilter } from "./use-filter.ts";

/** Options of a list in the page; typing finds the others. */
const MOST_OPTIONS = 50;

export interface Choice {
  readonly value: string;
  readonly label: string;
}

interface ChipProps {
  readonly name: string;
  readonly label: string;
  readonly value: string | undefined;
  readonly choices: readonly Choice[];
}

/** A few choices, as a menu. */
export function ChoiceChip({ name, label, value, choices }: ChipProps) {
  const filter = useFilter();
  return (
    <Chip name={name} label={label} value={value} choices={choices}>
      {(button) => (
        <Menu position="bottom-start">
          <Menu.Target>{button}</Menu.Target>
          <Menu.Dropdown>
            {choices.map((choice) => (
              <Menu.Item
                key={choice.value}
                rightSection={choice.value === value && <IconCheck size={14} />}
                onClick={() => void filter({ [name]: choice.value })}
              >
                {choice.label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
      )}
    </Chip>
  );
}

/** Many choices, found by typing. @param isFree a typed value that is no choice may be used, too */
export function TypeAheadChip({
  name,
  label,
  value,
  choices,
  isFree = false,
}: ChipProps & { isFree?: boolean }) {
  const filter = useFilter();
  const [text, setText] = useState("");
  const box = useCombobox({
    onDropdownOpen: () => box.focusSearchInput(),
    onDropdownClose: () => {
      box.resetSelectedOption();
      setText("");
    },
  });
  const asked = text.trim().toLowerCase();
  const found = choices.filter((choice) => `${choice.label} ${choice.value}`.toLowerCase().includes(asked));
  const isOther = isFree && asked !== "" && choices.every((choice) => choice.value !== asked);
  return (
    <Chip name={name} label={label} value={value} choices={choices}>
      {(button) => (
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
            {withClick(button, box.toggleDropdown)}
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
      )}
    </Chip>
  );
}

const withClick = (button: ReactElement<{ onClick?: () => void }>, onClick: () => void) => (
  <button.type {...button.props} onClick={onClick} />
);

/** A dashed button without a value; with one, a filled button and a cross. */
function Chip({
  name,
  label,
  value,
  choices,
  children,
}: ChipProps & { children: (button: ReactElement<{ onClick?: () => void }>) => ReactElement }) {
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
