// Sections of the request drawer: timeline, tokens of a text, attempts with their providers, parameters.
import type { RequestRecord, TextRecord } from "@gr/console-api";
import { Badge, Group, Stack, Text, Title } from "@mantine/core";
import { Fragment, type ReactNode } from "react";
import { countText, secondsText } from "../../parts/figures/figure-text.ts";
import { DetailRow, DetailRows } from "../../parts/lists/detail-rows.tsx";
import { timelineOf } from "./request-timeline.ts";

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs" component="section" aria-label={title}>
      <Title order={3} size="h4">
        {title}
      </Title>
      {children}
    </Stack>
  );
}

export function Timeline({ of: request }: { of: RequestRecord }) {
  const parts = timelineOf(request);
  const whole = parts.at(-1)?.to ?? 0;
  if (whole === 0) return null;
  const percent = (ms: number) => `${(ms / whole) * 100}%`;
  return (
    <Section title="Timeline">
      <div className="timeline">
        {parts.map(({ label, from, to, kind }) => (
          <Fragment key={`${label} ${from}`}>
            <Text size="sm" truncate>
              {label}
            </Text>
            <div className="timeline-track" aria-hidden>
              <div
                className="timeline-part"
                data-kind={kind}
                style={{ marginInlineStart: percent(from), width: percent(to - from) }}
              />
            </div>
            <Text size="sm" c="dimmed" ta="right" className="figures">
              {secondsText(to - from)}
            </Text>
          </Fragment>
        ))}
      </div>
    </Section>
  );
}

const PARTS = [
  ["input_tokens", "Input"],
  ["cached_input_tokens", "of these, read from the cache"],
  ["cache_write_tokens", "of these, written to the cache"],
  ["image_input_tokens", "of these, images"],
  ["audio_input_tokens", "of these, audio"],
  ["output_tokens", "Output"],
  ["reasoning_tokens", "of these, reasoning"],
  ["image_output_tokens", "of these, images"],
  ["audio_output_tokens", "of these, audio"],
] as const;
const WHOLES: ReadonlySet<string> = new Set(["input_tokens", "output_tokens"]);

export function Tokens({ of: { usage, api } }: { of: TextRecord }) {
  if (api === null) {
    return (
      <Text size="sm" c="dimmed">
        Details appear when the request has finished, and are kept for the retention period. The ledger keeps
        the cost.
      </Text>
    );
  }
  if (usage === null) return null;
  return (
    <Section title="Tokens">
      <DetailRows>
        {PARTS.filter(([unit]) => WHOLES.has(unit) || usage[unit] > 0).map(([unit, name]) => (
          <DetailRow key={unit} name={name}>
            <span className="figures">{countText(usage[unit])}</span>
          </DetailRow>
        ))}
        {Object.entries(usage.tool_calls).map(([call, count]) => (
          <DetailRow key={call} name={call}>
            <span className="figures">{countText(count)}</span>
          </DetailRow>
        ))}
      </DetailRows>
    </Section>
  );
}

export function Attempts({ of: { attempts } }: { of: RequestRecord }) {
  if (attempts.length === 0) return null;
  return (
    <Section title="Attempts">
      {attempts.map(({ provider, model, outcome, latency }, index) => (
        <Group key={index} gap="sm" wrap="nowrap" className="attempt">
          <Stack gap={0} flex={1} miw={0}>
            <Text size="sm" fw={500} truncate>
              {provider}
            </Text>
            <Text size="xs" c="dimmed" truncate>
              {model}
            </Text>
          </Stack>
          <Badge color={outcome === "delivered" ? "green" : "red"}>{outcomeText(outcome)}</Badge>
          <Text size="sm" c="dimmed" className="figures">
            {secondsText(latency)}
          </Text>
        </Group>
      ))}
    </Section>
  );
}

/** "rate_limited" as "Rate limited". */
function outcomeText(outcome: string): string {
  const words = outcome.replaceAll("_", " ");
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}

export function Parameters({ of: record }: { of: RequestRecord }) {
  return (
    <Section title="Parameters">
      <DetailRows>
        <DetailRow name="Model">{record.model}</DetailRow>
        {parametersOf(record).map(([name, value]) => (
          <DetailRow key={name} name={name}>
            {String(value)}
          </DetailRow>
        ))}
      </DetailRows>
    </Section>
  );
}

function parametersOf(record: RequestRecord): [name: string, value: string | number][] {
  const known = (entries: readonly (readonly [string, string | number | null | undefined])[]) =>
    entries.flatMap(([name, value]): [string, string | number][] => (value == null ? [] : [[name, value]]));
  if (record.kind === "text") {
    const { api, stream, finish_reason, user } = record;
    const name = api === "chat" ? "Chat completions" : api === "responses" ? "Responses" : null;
    return known([
      ["API", name],
      ["Streamed", stream === null ? null : stream ? "Yes" : "No"],
      ["Finish reason", finish_reason],
      ["User", user],
    ]);
  }
  const { n, size, quality, seconds, audio, input_images, partial_images } = record.request;
  const { output_format, response_format } = record.request;
  return known([
    ["Images", record.kind === "image" ? n : null],
    ["Size", size],
    ["Quality", quality],
    ["Seconds", seconds],
    ["Sound", audio === undefined ? null : audio ? "Yes" : "No"],
    ["Input images", input_images],
    ["Partial images", partial_images],
    ["Format", output_format],
    ["Answer", response_format],
  ]);
}
