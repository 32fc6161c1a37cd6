// The public catalogue: every model that can be served here, with its price.
import {
  Anchor,
  Badge,
  Button,
  Group,
  SegmentedControl,
  Select,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
} from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { ModelRecord } from "../../api/public-api.ts";
import { modelsQuery, priceText } from "../../models-query.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { Empty, Failure, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";

const ALL = "all";
const TYPES = [
  { value: ALL, label: "All" },
  { value: "image", label: "Image" },
  { value: "video", label: "Video" },
  { value: "text", label: "Text" },
];
const SORTS = [
  { value: "name", label: "name" },
  { value: "price", label: "price" },
  { value: "arena", label: "arena score" },
  { value: "newest", label: "newest" },
];

export function Models() {
  const { type, name = "", provider, free, sort = "name" } = useSearch({ strict: false });
  const filter = useFilter();
  const { data, error, refetch } = useQuery(modelsQuery);
  const providers = [...new Set(data?.flatMap((model) => model.providers))].toSorted();
  const wanted = name.toLowerCase();
  const shown = (data ?? [])
    .filter((model) => type === undefined || model.type === type)
    .filter((model) => provider === undefined || model.providers.includes(provider))
    .filter((model) => free === undefined || (priceText(model) === "free") === (free === "true"))
    .filter((model) => `${model.id} ${model.name}`.toLowerCase().includes(wanted))
    .toSorted(orderOf(sort));
  return (
    <Stack>
      <Title order={1} size="h2">
        Models
      </Title>
      <Group align="flex-end" role="search">
        <TextInput
          label="Name or ID"
          leftSection={<IconSearch size={16} />}
          className="grows-on-phones"
          value={name}
          onChange={({ currentTarget }) => void filter({ name: currentTarget.value })}
        />
        <SegmentedControl
          aria-label="Type"
          data={TYPES}
          value={type ?? ALL}
          onChange={(value) => void filter({ type: value === ALL ? null : value })}
        />
        <Choice
          label="Provider"
          value={provider}
          data={providers.map((value) => ({ value, label: value }))}
          onChange={(value) => void filter({ provider: value })}
        />
        <Choice
          label="Price"
          value={free}
          data={[
            { value: "true", label: "free" },
            { value: "false", label: "paid" },
          ]}
          onChange={(value) => void filter({ free: value })}
        />
        <Select
          label="Order"
          w={140}
          allowDeselect={false}
          data={SORTS}
          value={sort}
          onChange={(value) => void filter({ sort: value === "name" ? null : value })}
        />
      </Group>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsWaiting />}
      {data !== undefined && shown.length === 0 && <Empty title="No model matches the filters" />}
      {data !== undefined && (
        <Text size="sm" c="dimmed" role="status">
          {shown.length} of {data.length} models
        </Text>
      )}
      {shown.length > 0 && <ModelTable models={shown} />}
    </Stack>
  );
}

function Choice(props: {
  label: string;
  value: string | undefined;
  data: { value: string; label: string }[];
  onChange: (value: string | null) => void;
}) {
  const { label, value, data, onChange } = props;
  return (
    <Select
      label={label}
      placeholder="all"
      clearable
      w={140}
      value={value ?? null}
      data={data}
      onChange={onChange}
    />
  );
}

/** Stays in the frame of the account, if the page has one. */
function ModelLink({ id, ...props }: { id: string }) {
  const { account } = useParams({ strict: false });
  return account === undefined ? (
    <Link to="/models/$" params={{ _splat: id }} {...props} />
  ) : (
    <Link to="/accounts/$account/models/$" params={{ account, _splat: id }} {...props} />
  );
}

function ModelTable({ models }: { models: readonly ModelRecord[] }) {
  const { account } = useParams({ strict: false });
  const sources = new Set(models.flatMap(({ arena }) => arena && `${arena.attribution}, ${arena.as_of}`));
  sources.delete(null);
  return (
    <>
      <RowsTable
        heads={["Model", "Type", "Can do", "Providers", "Arena", "Price"]}
        figures={2}
        hasActions={account !== undefined}
        minWidth={860}
      >
        {models.map((model) => (
          <ModelRow key={model.id} model={model} />
        ))}
      </RowsTable>
      {sources.size > 0 && (
        <Text size="xs" c="dimmed">
          Arena scores: {[...sources].join("; ")}.
        </Text>
      )}
    </>
  );
}

function ModelRow({ model }: { model: ModelRecord }) {
  const { account } = useParams({ strict: false });
  return (
    <Table.Tr>
      <Table.Td miw={320}>
        <Group gap="sm" wrap="nowrap">
          <VendorSign vendor={model.owned_by} />
          <Stack gap={0} miw={0}>
            <Anchor
              fw={500}
              c="inherit"
              underline="hover"
              className="break-anywhere"
              renderRoot={(props) => <ModelLink id={model.id} {...props} />}
            >
              {model.name}
            </Anchor>
            <Text size="xs" c="dimmed" ff="monospace" className="break-anywhere">
              {model.id}
            </Text>
            {model.shutdown_date !== null && (
              <Text size="xs" fw={600}>
                ends {model.shutdown_date}
              </Text>
            )}
          </Stack>
        </Group>
      </Table.Td>
      <Table.Td>
        <Badge color="gray">{model.type}</Badge>
      </Table.Td>
      <Table.Td className="hidden-on-phones">
        <Text size="sm" c="dimmed">
          {model.capabilities.map((each) => each.replaceAll("-", " ")).join(", ") || "–"}
        </Text>
      </Table.Td>
      <Table.Td>{model.providers.join(", ")}</Table.Td>
      <Table.Td ta="right" className="figures" title={model.arena?.board}>
        {model.arena_score ?? "–"}
      </Table.Td>
      <Table.Td ta="right">{priceText(model)}</Table.Td>
      {account !== undefined && (
        <Table.Td>
          <Button
            variant="default"
            size="compact-sm"
            aria-label={`Try ${model.name}`}
            renderRoot={(props) => (
              <Link
                to="/accounts/$account/playground"
                params={{ account }}
                search={{ model: model.id }}
                {...props}
              />
            )}
          >
            Try
          </Button>
        </Table.Td>
      )}
    </Table.Tr>
  );
}

/** First letter of the vendor, in a colour of its own. */
function VendorSign({ vendor }: { vendor: string }) {
  const rank = [...vendor].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 6;
  return (
    <span className={`vendor-sign vendor-${rank}`} aria-hidden="true" title={vendor}>
      {vendor.slice(0, 1).toUpperCase()}
    </span>
  );
}

/** Returns an order with unknown values last. Prices become numbers here only for their order. */
function orderOf(sort: string): (one: ModelRecord, other: ModelRecord) => number {
  const rank = {
    price: ({ type, pricing }: ModelRecord) =>
      Number((type === "text" ? pricing["output"] : pricing.default_request) ?? Number.POSITIVE_INFINITY),
    arena: ({ arena_score }: ModelRecord) => -(arena_score ?? Number.NEGATIVE_INFINITY),
    newest: ({ release_date }: ModelRecord) => -(release_date === null ? 0 : Date.parse(release_date)),
  }[sort];
  return (one, other) => {
    const [first, second] = [rank?.(one) ?? 0, rank?.(other) ?? 0];
    return first === second ? one.id.localeCompare(other.id) : first - second;
  };
}
