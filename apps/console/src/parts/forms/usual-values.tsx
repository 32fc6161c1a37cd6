// Usual values of a field, as chips beside it. The field accepts any other value, too.
import { Chip } from "@mantine/core";

export interface UsualValuesProps {
  /** Subject of the values for screen readers. */
  readonly label: string;
  /** Values with their texts. */
  readonly choices: readonly (readonly [value: string, text: string])[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function UsualValues({ label, choices, value, onChange }: UsualValuesProps) {
  return (
    <Chip.Group value={value} onChange={(chosen) => onChange(String(chosen))}>
      <fieldset className="usual-values" aria-label={label}>
        {choices.map(([each, text]) => (
          <Chip key={each} value={each} size="sm" radius="md" variant="outline" icon={null}>
            {text}
          </Chip>
        ))}
      </fieldset>
    </Chip.Group>
  );
}
