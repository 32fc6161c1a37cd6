// Text details show the tokens, providers and times of a text request. Prompts and answers are not stored.
import type { TextRequestRecord } from "@gr/console-api";
import { Alert, Badge, Stack, Table, Text, Title } from "@mantine/core";
import { countText, secondsText } from "../../parts/figures/figure-text.ts";
import { DetailRow, DetailRows } from "../../parts/lists/detail-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";

export function TextDetails({ of: request }: { of: TextRequestRecord }) {
  if (request.api === null) {
    return (
      <Alert color="gray" title="No details">
        Details appear when the request has finished, and are kept for the retention period. The ledger keeps
        the cost.
      </Alert>
    );
  }
  return (
    <>
      <DetailRows>
        <DetailRow name="API">
          {request.api === "chat" ? "chat completion" : "response"}
          {request.stream ? ", streamed" : ""}
        </DetailRow>
        {request.first_byte_ms !== null && (
          <DetailRow name="Time to first byte">{secondsText(request.first_byte_ms)}</DetailRow>
        )}
        {request.finish_reason !== null && (
          <DetailRow name="Finish reason">{request.finish_reason}</DetailRow>
        )}
        {request.user !== null && <DetailRow name="User">{request.user}</DetailRow>}
      </DetailRows>
      <Usage of={request} />
      <Attempts of={request} />
      <Text size="sm" c="dimmed">
        Prompts and answers are not stored.
      </Text>
    </>
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

function Usage({ of: { usage } }: { of: TextRequestRecord }) {
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h5">
        Tokens
      </Title>
      {usage === null ? (
        <Text size="sm">Nothing was delivered.</Text>
      ) : (
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
      )}
    </Stack>
  );
}

function Attempts({ of: { attempts } }: { of: TextRequestRecord }) {
  if (attempts.length === 0) return null;
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h5">
        {attempts.length === 1 ? "Provider" : "Providers, in order"}
      </Title>
      <RowsTable heads={["Provider", "Outcome", "Took"]} figures={1} minWidth={360}>
        {attempts.map(({ provider, model, outcome, took_ms }, index) => (
          <Table.Tr key={index}>
            <Table.Td className="break-anywhere">
              {provider}
              <Text size="xs" c="dimmed">
                {model}
              </Text>
            </Table.Td>
            <Table.Td>
              <Badge variant="light" color={outcome === "delivered" ? "green" : "red"}>
                {outcome}
              </Badge>
            </Table.Td>
            <Table.Td ta="right" className="figures">
              {secondsText(took_ms)}
            </Table.Td>
          </Table.Tr>
        ))}
      </RowsTable>
    </Stack>
  );
}
