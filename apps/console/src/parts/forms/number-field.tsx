// The number field accepts a number between two bounds, or nothing.
import { TextInput, type TextInputProps } from "@mantine/core";

export interface NumberFieldProps extends Omit<TextInputProps, "value" | "onChange" | "type"> {
  /** Undefined: the field is empty. */
  readonly value?: number | undefined;
  readonly min: number;
  readonly max: number;
  readonly onChange: (value: number | undefined) => void;
}

export function NumberField({ value, onChange, min, max, ...input }: NumberFieldProps) {
  const inBounds = (typed: number) => (Number.isNaN(typed) ? undefined : Math.min(max, Math.max(min, typed)));
  return (
    <TextInput
      type="number"
      min={min}
      max={max}
      value={value ?? ""}
      onChange={({ currentTarget }) => onChange(inBounds(currentTarget.valueAsNumber))}
      {...input}
    />
  );
}
