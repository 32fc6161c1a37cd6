// The log of an account: every request, as a list or, of images and videos, as a gallery, and each one as a whole.
import type { GenerationRecord, QueryOf, RequestRecord } from "@gr/console-api";
import { Center, Group, SegmentedControl, Stack, Table, Text, Title, UnstyledButton } from "@mantine/core";
import { useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "../../api/console-client.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { ChoiceFilter, Filters, TextFilter, useFilter } from "../../parts/lists/filters.tsx";
import { Empty } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { progressOf, REQUEST_STATUSES, RequestStatus } from "../../parts/lists/request-status.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { Media } from "../../parts/media/media.tsx";
import { Running, Thumbnail } from "../../parts/media/thumbnail.tsx";
import { useAccount } from "../../session.ts";
import { RequestDrawer } from "./request-drawer.tsx";
import { summaryOf } from "./request-summary.ts";

const KINDS = [
  { value: "text", label: "Text" },
  { value: "image", label: "Images" },
  { value: "video", label: "Videos" },
  { value: "media", label: "Images and videos" },
];
const STATUSES = REQUEST_STATUSES.map((value) => ({ value, label: value }));
/** Intervals while a request runs, and otherwise. */
const RUNNING_MS = 3_000;
const USUAL_MS = 15_000;
/** Side of the progress ring in the gallery. */
const RING = 72;

export function Logs() {
  const { account_id: account } = useAccount();
  const { request, view, kind, model, status, key_id, from, to } = useSearch({ strict: false });
  const isGallery = view === "gallery";
  const shown = isGallery && kind !== "image" && kind !== "video" ? "media" : kind;
  const query = { kind: shown, model, status, key_id, from, to } as QueryOf<"listRequests">;
  const filter = useFilter();
  const open = ({ id }: RequestRecord) => void filter({ request: id });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Logs
        </Title>
        <SegmentedControl
          aria-label="Shown as"
          value={isGallery ? "gallery" : "list"}
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
        queryKey={["requests", account, query]}
        read={(after, signal) =>
          call("listRequests", { path: { account }, query: { ...query, ...(after && { after }) }, signal })
        }
        again={(rows) => (rows.some(({ status }) => status === "running") ? RUNNING_MS : USUAL_MS)}
        empty={<Empty title="No requests yet">Send a request from the playground or with curl.</Empty>}
      >
        {(rows) => (isGallery ? <Gallery rows={rows} open={open} /> : <List rows={rows} open={open} />)}
      </PagedRows>
      <RequestDrawer id={request} close={() => void filter({ request: null })} />
    </Stack>
  );
}

interface RowsProps {
  readonly rows: readonly RequestRecord[];
  readonly open: (row: RequestRecord) => void;
}

function List({ rows, open }: RowsProps) {
  return (
    <RowsTable heads={["When", "What", "Model", "Status", "Charged, USD"]} figures={1} minWidth={720}>
      {rows.map((row) => (
        <Table.Tr key={row.id}>
          <Table.Td>
            <Time at={row.created_at} />
          </Table.Td>
          <Table.Td maw={320}>
            <UnstyledButton onClick={() => open(row)}>
              <Group gap="xs" wrap="nowrap">
                <Thumbnail of={row} />
                <Text size="sm" lineClamp={2} td="underline">
                  {summaryOf(row)}
                </Text>
              </Group>
            </UnstyledButton>
          </Table.Td>
          <Table.Td className="break-anywhere">{row.model}</Table.Td>
          <Table.Td>
            <RequestStatus of={row} />
          </Table.Td>
          <Table.Td ta="right">{row.charged === null ? "–" : <Money usd={row.charged} />}</Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}

function Gallery({ rows, open }: RowsProps) {
  const shown = rows.filter(
    (row): row is GenerationRecord =>
      row.kind !== "text" && (row.urls.length > 0 || row.status === "running"),
  );
  if (shown.length === 0) return <Empty title="No images or videos on this page" />;
  return (
    <div className="gallery">
      {shown.flatMap((row) =>
        row.status === "running" ? (
          <UnstyledButton key={row.id} onClick={() => open(row)}>
            <Center className="thumbnail" style={{ aspectRatio: 1 }}>
              <Running progress={progressOf(row)} size={RING} />
            </Center>
            <Below row={row}>{summaryOf(row)}, runs</Below>
          </UnstyledButton>
        ) : (
          row.urls.map((url, index) => (
            <UnstyledButton key={url} onClick={() => open(row)}>
              <Media
                kind={row.kind}
                url={url}
                preview={row.preview_urls[index] ?? undefined}
                label={`${summaryOf(row)}, ${index + 1} of ${row.urls.length}`}
              />
              <Below row={row} />
            </UnstyledButton>
          ))
        ),
      )}
    </div>
  );
}

function Below({ row, children }: { row: GenerationRecord; children?: ReactNode }) {
  return (
    <>
      <Text size="sm" lineClamp={1}>
        {children}
      </Text>
      <Text size="xs" c="dimmed" lineClamp={1}>
        {row.model}
      </Text>
    </>
  );
}
