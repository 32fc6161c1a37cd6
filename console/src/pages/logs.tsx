// The log of an account: every image and video, as a list or as a gallery, and each one as a whole.
import type { GenerationRecord, QueryOf } from "@gr/console-api";
import {
  Badge,
  Code,
  Group,
  SegmentedControl,
  Stack,
  Table,
  Text,
  Title,
  UnstyledButton,
} from "@mantine/core";
import { useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../api/console-client.ts";
import { Money, Time } from "../parts/figures.tsx";
import { ChoiceFilter, Filters, TextFilter, useFilter } from "../parts/filters.tsx";
import { Media } from "../parts/media.tsx";
import { Empty } from "../parts/page-states.tsx";
import { PagedRows } from "../parts/paged-rows.tsx";
import { useAccount } from "../session.ts";
import { GenerationDrawer } from "./generation-drawer.tsx";

const KINDS = [
  { value: "image", label: "Images" },
  { value: "video", label: "Videos" },
];
const STATUSES = ["running", "succeeded", "failed", "blocked", "cancelled"].map((value) => ({
  value,
  label: value,
}));
export const STATUS_COLORS = {
  running: "blue",
  succeeded: "green",
  failed: "red",
  blocked: "orange",
  cancelled: "gray",
} as const;
/** While somebody looks at what runs. */
const AGAIN_MS = 5_000;

export function Logs() {
  const { account_id: account } = useAccount();
  const { view, kind, model, status, key_id, from, to } = useSearch({ strict: false });
  const query = { kind, model, status, key_id, from, to } as QueryOf<"listGenerations">;
  const filter = useFilter();
  const [open, setOpen] = useState<GenerationRecord>();
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Logs
        </Title>
        <SegmentedControl
          aria-label="Shown as"
          value={view === "gallery" ? "gallery" : "list"}
          data={[
            { value: "list", label: "List" },
            { value: "gallery", label: "Gallery" },
          ]}
          onChange={(value) => void filter({ view: value === "gallery" ? value : null })}
        />
      </Group>
      <Filters>
        <ChoiceFilter name="kind" label="Kind" value={kind} choices={KINDS} />
        <ChoiceFilter name="status" label="Status" value={status} choices={STATUSES} />
        <TextFilter name="model" label="Model" value={model} />
        <TextFilter name="key_id" label="Key id" value={key_id} />
        <TextFilter name="from" label="From (UTC)" type="date" value={from} />
        <TextFilter name="to" label="To (UTC)" type="date" value={to} />
      </Filters>
      <PagedRows
        queryKey={["generations", account, query]}
        everyMs={AGAIN_MS}
        read={(after, signal) =>
          call("listGenerations", { path: { account }, query: { ...query, ...(after && { after }) }, signal })
        }
        empty={
          <Empty title="Nothing here">Images and videos stand here as soon as they are asked for.</Empty>
        }
      >
        {(rows) =>
          view === "gallery" ? <Gallery rows={rows} open={setOpen} /> : <List rows={rows} open={setOpen} />
        }
      </PagedRows>
      <GenerationDrawer generation={open} close={() => setOpen(undefined)} />
    </Stack>
  );
}

interface RowsProps {
  readonly rows: readonly GenerationRecord[];
  readonly open: (row: GenerationRecord) => void;
}

function List({ rows, open }: RowsProps) {
  return (
    <Table.ScrollContainer minWidth={720}>
      <Table verticalSpacing="xs" highlightOnHover>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>When</Table.Th>
            <Table.Th>What</Table.Th>
            <Table.Th>Model</Table.Th>
            <Table.Th>Status</Table.Th>
            <Table.Th ta="right">Charged</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={row.id}>
              <Table.Td>
                <Time at={row.created_at} />
              </Table.Td>
              <Table.Td maw={320}>
                <UnstyledButton onClick={() => open(row)}>
                  <Group gap="xs" wrap="nowrap">
                    <Media kind={row.kind} url={row.urls[0]} size={40} label="" />
                    <Text size="sm" lineClamp={2} td="underline">
                      {row.parameters.prompt ?? <Code>{row.id}</Code>}
                    </Text>
                  </Group>
                </UnstyledButton>
              </Table.Td>
              <Table.Td className="break-anywhere">{row.model}</Table.Td>
              <Table.Td>
                <Badge variant="light" color={STATUS_COLORS[row.status]}>
                  {row.status}
                </Badge>
              </Table.Td>
              <Table.Td ta="right">{row.charged === null ? "–" : <Money usd={row.charged} />}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Gallery({ rows, open }: RowsProps) {
  const shown = rows.filter(({ urls }) => urls.length > 0);
  if (shown.length === 0) return <Empty title="No picture and no video among these" />;
  return (
    <div className="gallery">
      {shown.flatMap((row) =>
        row.urls.map((url, index) => (
          <UnstyledButton key={url} onClick={() => open(row)}>
            <Media
              kind={row.kind}
              url={url}
              label={`${row.parameters.prompt ?? row.model}, ${index + 1} of ${row.urls.length}`}
            />
            <Text size="xs" c="dimmed" lineClamp={1}>
              {row.model}
            </Text>
          </UnstyledButton>
        )),
      )}
    </div>
  );
}
