// The playground has a form for the chosen model, calls the real API, and shows the cost.
import { Anchor, Group, Select, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import type { ModelRecord } from "../../api/public-api.ts";
import { modelsQuery, priceText } from "../../models-query.ts";
import { useFilter } from "../../parts/lists/filters.tsx";
import { Failure, NotAllowed, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { useAccount } from "../../session.ts";
import { MediaPlayground } from "./media-playground.tsx";
import { TextPlayground } from "./text-playground.tsx";

export function Playground() {
  const { may } = useAccount();
  const { model: wanted, prompt } = useSearch({ strict: false });
  const { data, error, refetch } = useQuery(modelsQuery);
  if (!may("developer")) return <NotAllowed least="developer" />;
  if (error !== null) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <RowsWaiting />;
  const model = data.find(({ id }) => id === wanted) ?? data.find(({ type }) => type === "image") ?? data[0];
  return (
    <Stack>
      <Title order={1} size="h2">
        Playground
      </Title>
      <Text size="sm" c="dimmed">
        Requests here are real and charged to your account. The logs show them as “web token”.
      </Text>
      {model === undefined ? (
        <Text>No model is available yet.</Text>
      ) : (
        <>
          <ModelChoice models={data} model={model} />
          {model.type === "text" ? (
            <TextPlayground key={model.id} model={model} prompt={prompt ?? ""} />
          ) : (
            <MediaPlayground key={model.id} model={model} prompt={prompt ?? ""} />
          )}
        </>
      )}
    </Stack>
  );
}

function ModelChoice({ models, model }: { models: readonly ModelRecord[]; model: ModelRecord }) {
  const filter = useFilter();
  const groups = (["image", "video", "text"] as const).map((type) => ({
    group: type,
    items: models
      .filter((each) => each.type === type)
      .map(({ id, name }) => ({ value: id, label: `${name} · ${id}` })),
  }));
  return (
    <Group align="flex-end">
      <Select
        label="Model"
        searchable
        allowDeselect={false}
        miw={{ base: "100%", sm: 420 }}
        data={groups}
        value={model.id}
        limit={200}
        onChange={(id) => void filter({ model: id })}
      />
      <Stack gap={0}>
        <Text size="sm">{priceText(model)}</Text>
        <Anchor
          size="sm"
          renderRoot={(props) => <Link to="/models/$" params={{ _splat: model.id }} {...props} />}
        >
          About this model
        </Anchor>
      </Stack>
    </Group>
  );
}
