// Filters are in the address: it decides the shown rows, and a page can be shared by its link.
import { Group, Select, TextInput } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";

/** Puts values into the address of the page; "" and null remove them. A step is undone by Back. */
export function useFilter() {
  const navigate = useNavigate();
  return (
    values: Readonly<Record<string, string | null | undefined>>,
    { isStep = false }: { isStep?: boolean } = {},
  ) =>
    navigate({
      to: ".",
      replace: !isStep,
      resetScroll: false,
      search: (before: Record<string, string | undefined>) => {
        const all = Object.entries({ ...before, ...values });
        return Object.fromEntries(
          all.filter(([, value]) => value !== undefined && value !== null && value !== ""),
        );
      },
    });
}

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
