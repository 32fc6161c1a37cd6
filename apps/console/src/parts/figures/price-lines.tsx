// Price lines explain a charge: each unit with its price, then the reasons for any difference. The server's digits are
// shown unchanged, since they add up.
import type { AdjustmentReason, RequestPrice } from "@gr/console-api";
import { Stack, Table, Text, Title } from "@mantine/core";
import { countText } from "./figure-text.ts";
import { Money } from "./figures.tsx";

const UNITS: Readonly<Record<string, string>> = {
  image: "Images",
  first_area: "Images, first unit of area",
  further_area: "Further units of area",
  input_image: "Pictures sent in",
  input_area: "Units of area sent in",
  second: "Seconds",
  video: "Video",
  request: "Request",
  input_tokens: "Tokens in",
  cached_input_tokens: "Tokens in, from the cache",
  cache_write_tokens: "Tokens in, written to the cache",
  image_input_tokens: "Tokens of images in",
  audio_input_tokens: "Tokens of audio in",
  output_tokens: "Tokens out",
  reasoning_tokens: "Tokens of reasoning",
  image_output_tokens: "Tokens of images out",
  audio_output_tokens: "Tokens of audio out",
};
const REASONS: Readonly<Record<AdjustmentReason, string>> = {
  provider_billed: "Billed by the provider. The units were not kept.",
  billed_otherwise: "The provider billed another sum than the listed prices make.",
  earlier_providers: "Came from providers before the last one.",
  by_report: "By what the provider reported. The units were not kept.",
  units_unknown: "The units were not kept.",
  not_delivered: "Fewer came than were asked for.",
  not_charged: "Not charged to you.",
  rounded_up: "Rounded up to $0.0001, once.",
};

export function PriceLines({ price }: { price: RequestPrice | null }) {
  return (
    <Stack gap="xs" component="section">
      <Title order={2} size="h5">
        Why it cost that
      </Title>
      {price === null && <Text size="sm">It is decided when the request is over.</Text>}
      {price !== null && price.lines.length + price.adjustments.length === 0 && (
        <Text size="sm">Nothing was charged.</Text>
      )}
      {price !== null && price.lines.length + price.adjustments.length > 0 && <Lines price={price} />}
    </Stack>
  );
}

function Lines({ price }: { price: RequestPrice }) {
  return (
    <Table withRowBorders={false} verticalSpacing={4}>
      <Table.Tbody>
        {price.lines.map(({ unit, count, unit_price, amount }) => (
          <Table.Tr key={unit}>
            <Table.Td>
              {UNITS[unit] ?? unit}
              <Text size="xs" c="dimmed" className="figures">
                {countText(count)} × ${unit_price}
              </Text>
            </Table.Td>
            <Amount usd={amount} />
          </Table.Tr>
        ))}
        {price.adjustments.map(({ reason, amount }) => (
          <Table.Tr key={reason}>
            <Table.Td>{REASONS[reason]}</Table.Td>
            <Amount usd={amount} />
          </Table.Tr>
        ))}
        <Table.Tr className="total">
          <Table.Th>Charged</Table.Th>
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
