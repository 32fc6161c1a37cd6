// The range switch chooses the time of a page by presets, in the address.
import { SegmentedControl } from "@mantine/core";
import { useFilter } from "../../parts/filters/use-filter.ts";
import type { Preset } from "./usage-range.ts";

export interface RangeSwitchProps {
  readonly presets: readonly Preset[];
  /** Undefined: the range is none of them. */
  readonly chosen: string | undefined;
}

export function RangeSwitch({ presets, chosen }: RangeSwitchProps) {
  const filter = useFilter();
  return (
    <SegmentedControl
      aria-label="Time"
      size="sm"
      value={chosen ?? ""}
      data={presets.map(({ value, label }) => ({ value, label }))}
      onChange={(value) => void filter({ range: value, from: null, to: null, bucket: null })}
    />
  );
}
