// One generation as a whole: what was asked for, what came, what it cost.
import type { GenerationRecord } from "@gr/console-api";
import { Alert, Badge, Button, Code, Drawer, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { CodeBlock } from "../parts/copy-text.tsx";
import { Money, Time } from "../parts/figures.tsx";
import { Media } from "../parts/media.tsx";
import { useAccount } from "../session.ts";

export function GenerationDrawer(props: { generation: GenerationRecord | undefined; close: () => void }) {
  const { generation, close } = props;
  return (
    <Drawer opened={generation !== undefined} onClose={close} position="right" size="lg" title="Generation">
      {generation !== undefined && <Details of={generation} />}
    </Drawer>
  );
}

function Details({ of: generation }: { of: GenerationRecord }) {
  const { account_id: account } = useAccount();
  const { parameters, error } = generation;
  const took =
    generation.finished_at === null
      ? null
      : Date.parse(generation.finished_at) - Date.parse(generation.created_at);
  return (
    <Stack>
      {error !== null && (
        <Alert color="red" title={error.code ?? error.type}>
          {error.message}
        </Alert>
      )}
      {generation.is_deleted && <Alert color="gray">Its files and its prompt were removed.</Alert>}
      {generation.urls.map((url, index) => (
        <Media
          key={url}
          kind={generation.kind}
          url={url}
          controls
          label={`${parameters.prompt ?? generation.model}, ${index + 1} of ${generation.urls.length}`}
        />
      ))}
      <Table variant="vertical" layout="fixed">
        <Table.Tbody>
          <Row name="Request">
            <Code className="break-anywhere">{generation.id}</Code>
          </Row>
          <Row name="Model">{generation.model}</Row>
          <Row name="Status">
            <Badge variant="light">{generation.status}</Badge>
          </Row>
          <Row name="Charged">
            {generation.charged === null ? "not decided yet" : <Money usd={generation.charged} strong />}
          </Row>
          <Row name="Asked">
            <Time at={generation.created_at} />
          </Row>
          <Row name="Took">{took === null ? "runs" : `${(took / 1_000).toFixed(1)} s`}</Row>
          <Row name="Key">
            <Code className="break-anywhere">{generation.key_id}</Code>
          </Row>
          <Row name="Prompt">{parameters.prompt ?? "not kept"}</Row>
          <Row name="How many">{parameters.count}</Row>
          {parameters.size !== null && <Row name="Size">{parameters.size}</Row>}
          {parameters.quality !== null && <Row name="Quality">{parameters.quality}</Row>}
          {parameters.seconds !== null && <Row name="Seconds">{parameters.seconds}</Row>}
          {parameters.input_images > 0 && <Row name="Pictures sent in">{parameters.input_images}</Row>}
        </Table.Tbody>
      </Table>
      <CodeBlock code={curlOf(generation)} label="the request as curl" />
      <Group>
        <Button
          variant="default"
          renderRoot={(props) => (
            <Link
              to="/accounts/$account/playground"
              params={{ account }}
              search={{ model: generation.model, ...(parameters.prompt && { prompt: parameters.prompt }) }}
              {...props}
            />
          )}
        >
          Open in the playground
        </Button>
      </Group>
    </Stack>
  );
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Table.Tr>
      <Table.Th w={140}>{name}</Table.Th>
      <Table.Td>
        <Text size="sm" component="div" className="break-anywhere">
          {children}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}

function curlOf({ kind, model, parameters }: GenerationRecord): string {
  const { prompt, size, quality, seconds, count, output_format } = parameters;
  const body = {
    model,
    ...(prompt !== null && { prompt }),
    ...(size !== null && { size }),
    ...(quality !== null && { quality }),
    ...(kind === "video" ? { ...(seconds !== null && { seconds }) } : { n: count, output_format }),
  };
  const text = JSON.stringify(body).replaceAll("'", "'\\''");
  return [
    `curl ${window.location.origin}/v1/compat/${kind}s/generations \\`,
    '  -H "Authorization: Bearer $API_KEY" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '${text}'`,
  ].join("\n");
}
