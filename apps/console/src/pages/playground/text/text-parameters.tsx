// Parameters of a text request. An empty field is not sent: the model has a value of its own.
import { Collapse, SegmentedControl, Stack, Switch, Text, Textarea, UnstyledButton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconChevronDown, IconChevronRight } from "@tabler/icons-react";
import type { ModelRecord } from "../../../api/public-api.ts";
import { NumberField } from "../../../parts/forms/number-field.tsx";
import { AUTO, type TextDraft } from "../drafts.ts";
import { acceptsText, EFFORTS, toolsOf } from "./text-request.ts";

const SAMPLE_TOOL = JSON.stringify(
  [
    {
      type: "function",
      function: {
        name: "get_weather",
        description: "Weather of a city",
        parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      },
    },
  ],
  null,
  2,
);

export interface TextParametersProps {
  readonly model: ModelRecord;
  readonly draft: TextDraft;
  readonly change: (fields: Partial<TextDraft>) => void;
}

export function TextParameters({ model, draft, change }: TextParametersProps) {
  return (
    <>
      <Textarea
        label="System prompt"
        autosize
        minRows={3}
        maxRows={10}
        value={draft.system}
        onChange={({ currentTarget }) => change({ system: currentTarget.value })}
      />
      {acceptsText(model, "temperature") && (
        <NumberField
          label="Temperature"
          placeholder="Model's choice"
          min={0}
          max={2}
          step={0.1}
          value={draft.temperature ?? undefined}
          onChange={(value) => change({ temperature: value ?? null })}
        />
      )}
      {acceptsText(model, "max_tokens") && (
        <NumberField
          label="Max output tokens"
          placeholder={model.max_output_tokens === null ? "Model's choice" : String(model.max_output_tokens)}
          min={1}
          max={model.max_output_tokens ?? 1_000_000}
          step={256}
          value={draft.maxTokens ?? undefined}
          onChange={(value) => change({ maxTokens: value === undefined ? null : Math.floor(value) })}
        />
      )}
      {acceptsText(model, "reasoning") && (
        <Stack gap={6}>
          <Text size="sm" fw={500}>
            Reasoning effort
          </Text>
          <SegmentedControl
            fullWidth
            aria-label="Reasoning effort"
            data={[AUTO, ...EFFORTS].map((value) => ({
              value,
              label: value.slice(0, 1).toUpperCase() + value.slice(1),
            }))}
            value={draft.effort}
            onChange={(effort) => change({ effort })}
          />
        </Stack>
      )}
      {acceptsText(model, "response_format") && (
        <Switch
          label="JSON output"
          labelPosition="left"
          className="spread-switch"
          checked={draft.isJson}
          onChange={({ currentTarget }) => change({ isJson: currentTarget.checked })}
        />
      )}
      <MoreParameters model={model} draft={draft} change={change} />
    </>
  );
}

function MoreParameters({ model, draft, change }: TextParametersProps) {
  const [isOpen, { toggle }] = useDisclosure(draft.tools !== "" || draft.topP !== null);
  const Icon = isOpen ? IconChevronDown : IconChevronRight;
  const isBad = toolsOf(draft.tools) === undefined;
  return (
    <>
      <UnstyledButton fz="sm" c="dimmed" aria-expanded={isOpen} onClick={toggle}>
        <Icon size={14} aria-hidden="true" /> Tools and more parameters
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Stack gap="md">
          {acceptsText(model, "top_p") && (
            <NumberField
              label="Top p"
              placeholder="Model's choice"
              min={0}
              max={1}
              step={0.05}
              value={draft.topP ?? undefined}
              onChange={(value) => change({ topP: value ?? null })}
            />
          )}
          {acceptsText(model, "tools") && (
            <Textarea
              label="Tools"
              description="A JSON array of functions. Calls are shown in the answer; you write their results."
              placeholder={SAMPLE_TOOL}
              autosize
              minRows={3}
              maxRows={14}
              ff="monospace"
              error={isBad && "It must be a JSON array"}
              value={draft.tools}
              onChange={({ currentTarget }) => change({ tools: currentTarget.value })}
            />
          )}
        </Stack>
      </Collapse>
    </>
  );
}
