// The model page shows one model: its abilities, its price, and sample calls.
import { Anchor, Badge, Button, Code, Group, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ModelRecord } from "../../api/public-api.ts";
import { modelsQuery, priceText } from "../../models-query.ts";
import { Samples } from "../../parts/forms/samples.tsx";
import { Failure, PageMissing, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { Section } from "../../parts/section.tsx";
import { useSession, usualAccount } from "../../session.ts";
import { priceRows } from "./price-rows.ts";

export function ModelPage() {
  const { _splat: id } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(modelsQuery);
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <RowsWaiting />;
  const model = data.find((each) => each.id === id);
  return model === undefined ? <PageMissing /> : <Page model={model} />;
}

function Page({ model }: { model: ModelRecord }) {
  const session = useSession();
  const account = usualAccount(session);
  return (
    <Stack>
      <Group justify="space-between">
        <Stack gap={2}>
          <Group>
            <Title order={1} size="h2">
              {model.name}
            </Title>
            <Badge variant="light">{model.type}</Badge>
          </Group>
          <Code>{model.id}</Code>
        </Stack>
        {account !== undefined && (
          <Button
            renderRoot={(props) => (
              <Link
                to="/accounts/$account/playground"
                params={{ account }}
                search={{ model: model.id }}
                {...props}
              />
            )}
          >
            Try it
          </Button>
        )}
      </Group>
      <div className="model-columns">
        <Section title="About">
          <Facts model={model} />
        </Section>
        <Stack>
          <Section title="Prices">
            <Prices model={model} />
          </Section>
          <Section title="Code">
            <Samples request={{ type: model.type, body: { model: model.id } }} />
          </Section>
        </Stack>
      </div>
      <Anchor renderRoot={(props) => <AllModels {...props} />}>All models</Anchor>
    </Stack>
  );
}

function Prices({ model }: { model: ModelRecord }) {
  const text = priceText(model);
  if (text === "free") return <Text>Free</Text>;
  return (
    <RowsTable heads={["For", "Price"]} figures={1} minWidth={320}>
      {priceRows(model.pricing).map(({ what, price }) => (
        <Table.Tr key={what}>
          <Table.Td>{what}</Table.Td>
          <Table.Td ta="right" className="figures">
            {price}
          </Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}

function AllModels(props: object) {
  const { account } = useParams({ strict: false });
  return account === undefined ? (
    <Link to="/models" {...props} />
  ) : (
    <Link to="/accounts/$account/models" params={{ account }} {...props} />
  );
}

function Facts({ model }: { model: ModelRecord }) {
  const facts: [string, ReactNode][] = [
    ["Vendor", model.owned_by],
    ["Served by", model.providers.join(", ")],
    ["Can", model.capabilities.join(", ") || "–"],
    ["Parameters", model.supported_parameters.join(", ") || "–"],
  ];
  if (model.sizes.length > 0) facts.push(["Sizes", model.sizes.join(", ")]);
  if (model.qualities.length > 0) facts.push(["Qualities", model.qualities.join(", ")]);
  if (model.seconds.length > 0) facts.push(["Seconds", model.seconds.join(", ")]);
  if (model.limits.input_images !== null) facts.push(["Input images", `up to ${model.limits.input_images}`]);
  if (model.context_length !== null)
    facts.push(["Context", `${model.context_length.toLocaleString()} tokens`]);
  if (model.max_output_tokens !== null) {
    facts.push(["Maximum output", `${model.max_output_tokens.toLocaleString()} tokens`]);
  }
  if (model.arena_score !== null && model.arena !== null) {
    const { board, attribution, as_of } = model.arena;
    facts.push([board, `${model.arena_score} (${attribution}, ${as_of})`]);
  }
  if (model.release_date !== null) facts.push(["Released", model.release_date]);
  if (model.shutdown_date !== null) facts.push(["Ends", model.shutdown_date]);
  return (
    <Table variant="vertical" layout="fixed">
      <Table.Tbody>
        {facts.map(([name, value]) => (
          <Table.Tr key={name}>
            <Table.Th w={150}>{name}</Table.Th>
            <Table.Td className="break-anywhere">{value}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
