// Filters of a list by a text.
import { Group, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { useFilter } from "./use-filter.ts";

export function Filters({ children }: { children: ReactNode }) {
  return (
    <Group align="flex-end" gap="sm" role="search">
      {children}
    </Group>
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
