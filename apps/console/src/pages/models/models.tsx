// The public catalogue: every model that can be served here, with its price.
import { Anchor, Badge, Card, Group, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { ModelRecord } from "../../api/public-api.ts";
import { modelsQuery, priceText } from "../../models-query.ts";
import { useFilter } from "../../parts/lists/filters.tsx";
import { Empty, Failure, RowsWaiting } from "../../parts/lists/page-states.tsx";

const TYPES = ["image", "video", "text"].map((value) => ({ value, label: value }));
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
          label="Name"
          value={name}
          onChange={({ currentTarget }) => void filter({ name: currentTarget.value })}
        />
        <Choice label="Type" value={type} data={TYPES} onChange={(value) => void filter({ type: value })} />
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
      <div className="gallery">
        {shown.map((model) => (
          <ModelCard key={model.id} model={model} />
        ))}
      </div>
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

function ModelCard({ model }: { model: ModelRecord }) {
  return (
    <Card withBorder padding="md">
      <Stack gap={6}>
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Anchor
            fw={600}
            className="break-anywhere"
            renderRoot={(props) => <ModelLink id={model.id} {...props} />}
          >
            {model.name}
          </Anchor>
          <Badge variant="light">{model.type}</Badge>
        </Group>
        <Text size="xs" c="dimmed" ff="monospace" className="break-anywhere">
          {model.id}
        </Text>
        <Text size="sm">{priceText(model)}</Text>
        {model.arena_score !== null && model.arena !== null && (
          <Text size="xs" c="dimmed">
            {model.arena.board} {model.arena_score} ({model.arena.attribution}, {model.arena.as_of})
          </Text>
        )}
        {model.shutdown_date !== null && (
          <Text size="xs" fw={600}>
            ends {model.shutdown_date}
          </Text>
        )}
      </Stack>
    </Card>
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
