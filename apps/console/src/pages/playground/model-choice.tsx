// The choice of a model by name, vendor and price.
import { Anchor, Box, type ComboboxParsedItem, Select, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ModelRecord } from "../../api/public-api.ts";
import { priceText } from "../../models-query.ts";
import { useAccount } from "../../session.ts";

/** By name or id. */
function fits(option: ComboboxParsedItem, search: string): boolean {
  return (
    "value" in option && `${option.label} ${option.value}`.toLowerCase().includes(search.trim().toLowerCase())
  );
}

export interface ModelChoiceProps {
  readonly models: readonly ModelRecord[];
  readonly model: ModelRecord;
  readonly choose: (id: string) => void;
  readonly label?: string;
}

export function ModelChoice({ models, model, choose, label = "Model" }: ModelChoiceProps) {
  const { account_id: account } = useAccount();
  const records = new Map(models.map((each) => [each.id, each]));
  return (
    <Box pos="relative">
      <Select
        label={label}
        description={priceText(model)}
        inputWrapperOrder={["label", "input", "description"]}
        searchable
        allowDeselect={false}
        data={models.map(({ id, name }) => ({ value: id, label: name }))}
        filter={({ options, search }) => options.filter((option) => fits(option, search))}
        value={model.id}
        limit={200}
        onChange={(id) => id !== null && choose(id)}
        renderOption={({ option }) => {
          const record = records.get(option.value);
          return (
            <Stack gap={0} miw={0}>
              <Text size="sm" fw={500}>
                {record?.name ?? option.label}
              </Text>
              <Text size="xs" c="dimmed" className="break-anywhere">
                {option.value}
                {record && ` · ${priceText(record)}`}
              </Text>
            </Stack>
          );
        }}
      />
      <Anchor
        size="xs"
        className="label-link"
        renderRoot={(props) => (
          <Link to="/accounts/$account/models/$" params={{ account, _splat: model.id }} {...props} />
        )}
      >
        About this model
      </Anchor>
    </Box>
  );
}

/** Returns the model of a draft; the first one if it is not offered here. */
export function chosenOf(models: readonly ModelRecord[], id: string | null): ModelRecord | undefined {
  return models.find((each) => each.id === id) ?? models[0];
}

export interface DraftNoteProps {
  readonly wanted: string | null;
  readonly model: ModelRecord;
  /** Names of chosen values that the model does not accept. */
  readonly unused: readonly string[];
}

/** States the values of the draft that this model does not use. */
export function DraftNote({ wanted, model, unused }: DraftNoteProps) {
  const isReplaced = wanted !== null && wanted !== model.id;
  if (!isReplaced && unused.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" role="status">
      {isReplaced && `${wanted} is not available here. `}
      {unused.length > 0 && `Not used by ${model.name}: ${unused.join(", ")}.`}
    </Text>
  );
}
