// The end of a key: never, after a usual number of days, or on a date in the person's own zone.
import { Input, TextInput } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { UsualValues } from "../../parts/forms/usual-values.tsx";

const ON_A_DATE = "date";
const CHOICES = [
  ["", "Never"],
  ["7", "7 days"],
  ["30", "30 days"],
  ["90", "90 days"],
  [ON_A_DATE, "On a date"],
] as const;
const USUAL_DAYS = 30;
const DAY_MS = 86_400_000;

export interface ExpiryFieldProps {
  /** Local time in the format of `datetime-local`; "" = never. */
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: ReactNode;
}

export function ExpiryField({ value, onChange, error }: ExpiryFieldProps) {
  const [choice, setChoice] = useState<string>(value === "" ? "" : ON_A_DATE);
  const choose = (next: string) => {
    setChoice(next);
    if (next === "") onChange("");
    else if (next !== ON_A_DATE) onChange(inDays(Number(next)));
    else if (value === "") onChange(inDays(USUAL_DAYS));
  };
  return (
    <Input.Wrapper label="Expires" labelElement="div" error={error}>
      <UsualValues label="Expires" choices={CHOICES} value={choice} onChange={choose} />
      {choice === ON_A_DATE && (
        <TextInput
          mt="xs"
          type="datetime-local"
          aria-label="Expires on"
          description="Your local time"
          value={value}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      )}
    </Input.Wrapper>
  );
}

const inDays = (days: number) => localInput(new Date(Date.now() + days * DAY_MS).toISOString());

/** Converts an ISO 8601 time for an input of the type datetime-local. */
export function localInput(at: string): string {
  const date = new Date(at);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
