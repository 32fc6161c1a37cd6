// The log of an account: every request, as a list or, of images and videos, as a gallery, and each one in a drawer.
import type { QueryOf, RequestRecord } from "@gr/console-api";
import { Anchor, Button, Card, Group, SegmentedControl, Stack, Switch, Text, Title } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import { Link, useSearch } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { call, urlOf } from "../../api/console-client.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { FirstRequest } from "../../parts/first-request.tsx";
import { later, useHasBeen } from "../../parts/later.tsx";
import { Empty, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { useAccount } from "../../session.ts";
import { isFiltered, LogFilters, type LogSearch, NO_FILTERS, timesOf } from "./log-filters.tsx";
import { LogRows } from "./log-rows.tsx";
import { LogSummary } from "./log-summary.tsx";

const RequestDrawer = later(async () => (await import("./request-drawer.tsx")).RequestDrawer);
const Gallery = later(async () => (await import("./gallery.tsx")).Gallery, <RowsWaiting />);

/** Intervals while a request runs, and otherwise. */
const RUNNING_MS = 3_000;
const USUAL_MS = 15_000;

export function Logs() {
  const { account_id: account } = useAccount();
  const search: LogSearch = useSearch({ strict: false });
  const [isLive, setLive] = useState(true);
  const [ids, setIds] = useState<readonly string[]>([]);
  const filter = useFilter();
  const { request, view, kind, model, provider, status, key_id, member, range, from, to } = search;
  const hasOpened = useHasBeen(request !== undefined);
  const isGallery = view === "gallery";
  const shown = isGallery && kind !== "image" && kind !== "video" ? "media" : kind;
  const query = { kind: shown, model, provider, status, key_id, member } as QueryOf<"listRequests">;
  const queryKey = ["requests", account, query, range, from, to];
  const open = ({ id }: RequestRecord) => void filter({ request: id }, { isStep: true });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Logs
        </Title>
        <Group>
          <Switch
            label="Live"
            size="sm"
            checked={isLive}
            onChange={({ currentTarget }) => setLive(currentTarget.checked)}
          />
          <SegmentedControl
            aria-label="Shown as"
            value={isGallery ? "gallery" : "list"}
            data={[
              { value: "list", label: "List" },
              { value: "gallery", label: "Gallery" },
            ]}
            onChange={(value) => void filter({ view: value === "gallery" ? value : null })}
          />
          <Button
            component="a"
            variant="default"
            leftSection={<IconDownload size={16} />}
            href={urlOf("exportRequests", { account }, { ...query, ...timesOf(search, Date.now()) })}
            download
          >
            Export CSV
          </Button>
        </Group>
      </Group>
      <LogFilters search={search} />
      <PagedRows
        queryKey={queryKey}
        read={(after, signal) => {
          const times = timesOf(search, Date.now());
          const asked = { ...query, ...times, ...(after && { after }) };
          return call("listRequests", { path: { account }, query: asked, signal });
        }}
        again={(rows) => isLive && (rows.some((row) => row.status === "running") ? RUNNING_MS : USUAL_MS)}
        more="Load 50 more"
        empty={isFiltered(search) ? <NoMatch /> : <FirstTime />}
      >
        {(rows) => (
          <>
            <ListedIds rows={rows} changed={setIds} />
            {isGallery ? (
              <Gallery rows={rows} open={open} />
            ) : (
              <Card padding={0} className="log-list">
                <LogSummary query={query} search={search} isLive={isLive} />
                <LogRows rows={rows} />
                <Text size="xs" c="dimmed" px="md" py="xs">
                  Times in your zone ({zoneOf(new Date())})
                </Text>
              </Card>
            )}
          </>
        )}
      </PagedRows>
      {hasOpened && (
        <RequestDrawer
          id={request}
          siblings={ids}
          move={(id) => void filter({ request: id })}
          close={() => void filter({ request: null })}
        />
      )}
    </Stack>
  );
}

/** Reports the ids of the list to the drawer, which moves from one to the next. */
function ListedIds({ rows, changed }: { rows: readonly RequestRecord[]; changed: (ids: string[]) => void }) {
  const text = rows.map(({ id }) => id).join(" ");
  useEffect(() => changed(text.split(" ")), [text, changed]);
  return null;
}

function NoMatch() {
  const filter = useFilter();
  return (
    <Card>
      <Empty title="No requests match">
        <Button mt="xs" variant="default" onClick={() => void filter(NO_FILTERS)}>
          Clear filters
        </Button>
      </Empty>
    </Card>
  );
}

function FirstTime() {
  const { account_id: account } = useAccount();
  return (
    <Card>
      <Stack>
        <Empty title="Waiting for a request">
          The first one appears here as soon as it arrives. Send it with curl, or from the{" "}
          <Anchor
            inherit
            renderRoot={(props) => (
              <Link to="/accounts/$account/playground" params={{ account }} {...props} />
            )}
          >
            Playground
          </Anchor>
          .
        </Empty>
        <FirstRequest />
      </Stack>
    </Card>
  );
}

/** "UTC+1", "UTC−3:30". */
function zoneOf(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  if (minutes === 0) return "UTC";
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}
