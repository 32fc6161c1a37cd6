// Parameter fields are the choices that a model of images or videos offers. "Auto" is the model's own value.
import { Group, SegmentedControl, Select, Stack, Switch, Text } from "@mantine/core";
import type { ModelRecord } from "../../../api/public-api.ts";
import { NumberField } from "../../../parts/forms/number-field.tsx";
import { AUTO, type MediaDraft } from "../drafts.ts";
import { accepts, choicesOf } from "./media-request.ts";

/** More values are a list. */
const MOST_BUTTONS = 4;
const MOST_TILES = 9;
const TILE_PIXELS = 18;

export interface ParameterFieldsProps {
  readonly model: ModelRecord;
  readonly draft: MediaDraft;
  readonly change: (fields: Partial<MediaDraft>) => void;
}

export function ParameterFields({ model, draft, change }: ParameterFieldsProps) {
  return (
    <>
      {choicesOf(model).map(({ name, label, values, usual }) => {
        // A value of another model stays in the draft and is not shown.
        const value = values.includes(draft[name]) ? draft[name] : AUTO;
        const choose = (chosen: string | null) => change({ [name]: chosen ?? AUTO });
        return name === "size" && values.length <= MOST_TILES ? (
          <SizeTiles key={name} values={values} usual={String(usual ?? "")} value={value} choose={choose} />
        ) : (
          <Choice key={name} {...{ label, values, usual, value, choose }} />
        );
      })}
      {accepts(model, "n") && (
        <Group justify="space-between">
          <Text size="sm" fw={500} id="number-of-images">
            Number of images
          </Text>
          <NumberField
            aria-labelledby="number-of-images"
            w={84}
            min={1}
            max={10}
            value={draft.n}
            onChange={(n = 1) => change({ n: Math.floor(n) })}
          />
        </Group>
      )}
      {accepts(model, "audio") && (
        <Switch
          label="With sound"
          labelPosition="left"
          className="spread-switch"
          checked={draft.audio}
          onChange={({ currentTarget }) => change({ audio: currentTarget.checked })}
        />
      )}
    </>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly values: readonly string[];
  readonly usual: string | number | null;
  readonly value: string;
  readonly choose: (value: string | null) => void;
}

function Choice({ label, values, usual, value, choose }: ChoiceProps) {
  const nameOf = (each: string) => (label === "Length" ? `${each} s` : each);
  const auto = usual === null ? "Auto" : `Auto (${nameOf(String(usual))})`;
  const data = [AUTO, ...values].map((each) => ({ value: each, label: each === AUTO ? auto : nameOf(each) }));
  if (values.length > MOST_BUTTONS) {
    return <Select label={label} allowDeselect={false} data={data} value={value} onChange={choose} />;
  }
  return (
    <Stack gap={6}>
      <Text size="sm" fw={500}>
        {label}
      </Text>
      <SegmentedControl fullWidth aria-label={label} data={data} value={value} onChange={choose} />
    </Stack>
  );
}

function SizeTiles({
  values,
  usual,
  value,
  choose,
}: Omit<ChoiceProps, "label" | "usual"> & { usual: string }) {
  const shown = value === AUTO ? usual : value;
  return (
    <Stack gap={6} component="fieldset" className="plain-fieldset">
      <Group component="legend" justify="space-between" w="100%" p={0} mb={6}>
        <Text span size="sm" fw={500}>
          Size
        </Text>
        <Text span size="xs" c="dimmed" className="figures">
          {shown.replace("x", " × ")}
        </Text>
      </Group>
      <div className="size-tiles">
        {[AUTO, ...values].map((each) => (
          <label key={each} className="size-tile" title={each.replace("x", " × ")}>
            <input
              type="radio"
              name="size"
              checked={value === each}
              aria-label={each === AUTO ? "Auto" : each.replace("x", " by ")}
              onChange={() => choose(each)}
            />
            <span aria-hidden="true" className="size-shape" style={shapeOf(each === AUTO ? usual : each)} />
            <span aria-hidden="true">{each === AUTO ? "Auto" : ratioOf(each)}</span>
          </label>
        ))}
      </div>
    </Stack>
  );
}

function edgesOf(size: string): [number, number] {
  const [width = 1, height = 1] = size.split("x").map(Number);
  return [width || 1, height || 1];
}

function shapeOf(size: string) {
  const [width, height] = edgesOf(size);
  const unit = TILE_PIXELS / Math.max(width, height);
  return { width: Math.round(width * unit), height: Math.round(height * unit) };
}

/** "16:9"; the size itself where the numbers would be large. */
function ratioOf(size: string): string {
  const [width, height] = edgesOf(size);
  const divisor = (one: number, other: number): number => (other === 0 ? one : divisor(other, one % other));
  const shared = divisor(width, height);
  const [across, down] = [width / shared, height / shared];
  return Math.max(across, down) > 21 ? size : `${across}:${down}`;
}
