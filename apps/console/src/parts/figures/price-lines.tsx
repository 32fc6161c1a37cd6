// Price lines explain a charge: each unit with its price, then the reasons for any difference. The server's digits are
// shown unchanged, since they add up.
import type { AdjustmentReason, RequestPrice } from "@gr/console-api";
import { Stack, Table, Text, Title } from "@mantine/core";
import { countText } from "./figure-text.ts";
import { Money } from "./figures.tsx";

const UNITS: Readonly<Record<string, string>> = {
  image: "Images",
  first_area: "Images, first unit of area",
  further_area: "Images, further units of area",
  input_image: "Input images",
  input_area: "Input images, units of area",
  second: "Seconds",
  video: "Video",
  request: "Request",
  input_tokens: "Input tokens",
  cached_input_tokens: "Input tokens, from the cache",
  cache_write_tokens: "Input tokens, written to the cache",
  image_input_tokens: "Input tokens of images",
  audio_input_tokens: "Input tokens of audio",
  output_tokens: "Output tokens",
  reasoning_tokens: "Reasoning tokens",
  image_output_tokens: "Output tokens of images",
  audio_output_tokens: "Output tokens of audio",
};
const REASONS: Readonly<Record<AdjustmentReason, string>> = {
  provider_billed: "Billed by the provider. The units were not stored.",
  billed_otherwise: "The bill of the provider differs from the listed prices.",
  earlier_providers: "From providers before the last one.",
  by_report: "From the report of the provider. The units were not stored.",
  units_unknown: "The units were not stored.",
  not_delivered: "Fewer images were delivered than requested.",
  not_charged: "Not charged to you.",
  rounded_up: "Rounded up to $0.0001, once.",
};

export function PriceLines({ price }: { price: RequestPrice | null }) {
  return (
    <Stack gap="xs" component="section">
      <Title order={3} size="h4">
        Cost breakdown
      </Title>
      {price === null && <Text size="sm">Calculated when the request finishes.</Text>}
      {price !== null && price.lines.length + price.adjustments.length === 0 && (
        <Text size="sm">Nothing was charged.</Text>
      )}
      {price !== null && price.lines.length + price.adjustments.length > 0 && <Lines price={price} />}
    </Stack>
  );
}

function Lines({ price }: { price: RequestPrice }) {
  return (
    <Table verticalSpacing={6} className="price-lines">
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">Item</Table.Th>
          {["Count", "Unit price", "Amount"].map((head) => (
            <Table.Th key={head} scope="col" ta="right">
              {head}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {price.lines.map(({ unit, count, unit_price, amount }) => (
          <Table.Tr key={unit}>
            <Table.Td>{UNITS[unit] ?? unit}</Table.Td>
            <Table.Td ta="right" className="figures">
              {countText(count)}
            </Table.Td>
            <Amount usd={unit_price} />
            <Amount usd={amount} />
          </Table.Tr>
        ))}
        {price.adjustments.map(({ reason, amount }) => (
          <Table.Tr key={reason}>
            <Table.Td colSpan={3}>{REASONS[reason]}</Table.Td>
            <Amount usd={amount} />
          </Table.Tr>
        ))}
        <Table.Tr className="total">
          <Table.Th colSpan={3}>Charged</Table.Th>
          <Table.Td ta="right">
            <Money usd={price.charged} strong />
          </Table.Td>
        </Table.Tr>
      </Table.Tbody>
    </Table>
  );
}

/** Shows all digits of an amount. */
function Amount({ usd }: { usd: string }) {
  return (
    <Table.Td ta="right" className="figures" valign="top">
      {usd.startsWith("-") ? `−$${usd.slice(1)}` : `$${usd}`}
    </Table.Td>
  );
}
