// The limit fields are an amount in USD and the period after which it begins again. A cleared amount also clears the period.
import { spendPeriod } from "@gr/console-api";
import { Group, Select, Stack, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { UsualValues } from "./usual-values.tsx";

/** Values of inputs: text, and "" for an unset field. */
export interface LimitValues {
  readonly spend_limit: string;
  readonly spend_limit_period: string;
}

const RESETS: Readonly<Record<(typeof spendPeriod.options)[number] | "", string>> = {
  "": "never",
  day: "daily (00:00 UTC)",
  week: "weekly (Monday, 00:00 UTC)",
  month: "monthly (UTC)",
};
const CHOICES = Object.entries(RESETS).map(([value, label]) => ({ value, label }));

const USUAL = [
  ["", "No limit"],
  ["5", "$5"],
  ["10", "$10"],
  ["50", "$50"],
  ["100", "$100"],
] as const;

/** Returns the limit of a request body. */
export function limitOf({ spend_limit, spend_limit_period }: LimitValues) {
  const cap = spend_limit.trim().replace(/^\$/, "");
  const period = spendPeriod.options.find((each) => each === spend_limit_period) ?? null;
  return { spend_limit: cap === "" ? null : cap, spend_limit_period: cap === "" ? null : period };
}

interface LimitFieldsProps {
  readonly form: Pick<UseFormReturnType<LimitValues>, "getInputProps" | "values">;
  readonly hasFocus?: boolean;
}

export function LimitFields({ form, hasFocus = false }: LimitFieldsProps) {
  const { spend_limit } = form.values;
  return (
    <Stack gap="xs">
      <UsualValues
        label="Usual budgets"
        choices={USUAL}
        value={spend_limit.trim()}
        onChange={form.getInputProps("spend_limit").onChange}
      />
      <Group grow align="flex-start">
        <TextInput
          label="Spend limit, USD"
          placeholder="no limit"
          inputMode="decimal"
          {...(hasFocus && { "data-autofocus": true })}
          {...form.getInputProps("spend_limit")}
        />
        <Select
          label="Resets"
          data={CHOICES}
          allowDeselect={false}
          disabled={spend_limit === ""}
          {...form.getInputProps("spend_limit_period")}
        />
      </Group>
    </Stack>
  );
}
