// The catalogue page shows operators the providers, the result of the last text import, and the next changes.
import type { CatalogueChanges, RouterProviders } from "@gr/console-api";
import { Alert, Badge, Button, Card, Code, Group, List, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { Empty, PageMissing } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useSession } from "../../session.ts";

export function OperatorCatalogue() {
  const { is_operator } = useSession();
  const providers = useQuery({
    queryKey: ["operator", "providers"],
    queryFn: ({ signal }) => call("readProviders", { signal }),
    enabled: is_operator,
  });
  if (!is_operator) return <PageMissing />;
  return (
    <Stack>
      <Title order={1} size="h2">
        Catalogue
      </Title>
      <Text size="sm" c="dimmed">
        Models by provider, and the changes that files and upstreams would bring.
      </Text>
      <Loaded of={providers}>
        {(data) => (
          <>
            <ProviderTable providers={data.providers} />
            <Catalogue of={data} />
          </>
        )}
      </Loaded>
    </Stack>
  );
}

function ProviderTable({ providers }: Pick<RouterProviders, "providers">) {
  if (providers.length === 0) {
    return (
      <Card>
        <Empty title="No provider has a key">Set the key of a provider, and restart the router.</Empty>
      </Card>
    );
  }
  return (
    <Card component="section" aria-label="Providers">
      <RowsTable
        heads={["Provider", "Image models", "Video models", "Text models", "Only at this provider"]}
        figures={4}
        minWidth={600}
      >
        {providers.map(({ name, images, videos, texts, alone }) => (
          <Table.Tr key={name}>
            <Table.Td>{name}</Table.Td>
            {Object.entries({ images, videos, texts, alone }).map(([column, count]) => (
              <Table.Td key={column} ta="right" className="figures">
                {count === 0 ? "–" : count}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </RowsTable>
    </Card>
  );
}

const IMPORTS = {
  none: { color: "gray", text: "no text upstream is configured" },
  running: { color: "blue", text: "the first import is running" },
  done: { color: "green", text: "text models are imported" },
  failed: { color: "red", text: "the last import failed" },
} as const;

function Catalogue({ of: { catalogue_version, text_import } }: { of: RouterProviders }) {
  const compare = useAct({ send: () => call("previewCatalogue") });
  const { color, text } = IMPORTS[text_import.state];
  return (
    <Card component="section" aria-label="Catalogue">
      <Stack>
        <Title order={2} size="h4">
          Version in use
        </Title>
        <Group gap="xs">
          <Code className="break-anywhere">{catalogue_version}</Code>
          <Badge variant="light" color={color}>
            {text}
          </Badge>
        </Group>
        {text_import.problem !== null && <Alert color="red">{text_import.problem}</Alert>}
        <Group>
          <Button variant="default" loading={compare.isPending} onClick={() => compare.mutate()}>
            Compare with files and upstreams
          </Button>
        </Group>
        {compare.data !== undefined && <Changes of={compare.data} />}
      </Stack>
    </Card>
  );
}

function Changes({ of: { added, removed, repriced, notes } }: { of: CatalogueChanges }) {
  const parts = { "Would be added": added, "Would be removed": removed, "Would change price": repriced };
  const isSame = added.length + removed.length + repriced.length === 0;
  return (
    <Stack gap="xs" role="status">
      {notes.map((note) => (
        <Alert key={note} color="gray">
          {note}
        </Alert>
      ))}
      {isSame && <Text size="sm">No model would be added or removed, and no price would change.</Text>}
      {Object.entries(parts)
        .filter(([, ids]) => ids.length > 0)
        .map(([title, ids]) => (
          <Stack key={title} gap={4}>
            <Title order={3} size="h5">
              {title}: {ids.length}
            </Title>
            <List size="sm">
              {ids.map((id) => (
                <List.Item key={id}>{id}</List.Item>
              ))}
            </List>
          </Stack>
        ))}
      <Text size="sm" c="dimmed">
        Nothing was changed. Amounts, old and new: <Code>npm run cli -- catalog diff</Code>.
      </Text>
    </Stack>
  );
}
