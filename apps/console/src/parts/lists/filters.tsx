// Filters of a list: a choice, a text.
import { Group, Select, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { useFilter } from "./use-filter.ts";

export function Filters({ children }: { children: ReactNode }) {
  return (
    <Group align="flex-end" gap="sm" role="search">
      {children}
    </Group>
  );
}

export function ChoiceFilter(props: {
  name: string;
  label: string;
  value: string | undefined;
  choices: readonly { value: string; label: string }[];
}) {
  const filter = useFilter();
  return (
    <Select
      label={props.label}
      placeholder="all"
      clearable
      w={170}
      value={props.value ?? null}
      data={[...props.choices]}
      onChange={(value) => void filter({ [props.name]: value })}
    />
  );
}

/** Applied on blur or on Enter. */
export function TextFilter(props: {
  name: string;
  label: string;
  value: string | undefined;
  type?: "text" | "date";
}) {
  const filter = useFilter();
  const apply = (value: string) => {
    if (value !== (props.value ?? "")) void filter({ [props.name]: value.trim() });
  };
  return (
    <TextInput
      key={props.value ?? ""}
      type={props.type ?? "text"}
      label={props.label}
      w={props.type === "date" ? 160 : 190}
      defaultValue={props.value ?? ""}
      onBlur={({ currentTarget }) => apply(currentTarget.value)}
      onKeyDown={({ key, currentTarget }) => {
        if (key === "Enter") apply(currentTarget.value);
      }}
    />
  );
}
