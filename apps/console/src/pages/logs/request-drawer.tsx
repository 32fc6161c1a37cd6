// The request drawer shows one request: its outcome, its result, its times, its cost and its attempts. The address contains its
// id, so Back closes the drawer. Arrow keys move to the neighbours in the list.
import type { RequestRecord } from "@gr/console-api";
import { ActionIcon, Alert, CopyButton, Drawer, Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconCheck, IconChevronDown, IconChevronUp, IconLink } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../../api/console-client.ts";
import { secondsText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { PriceLines } from "../../parts/figures/price-lines.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { useKeyNames, useModelNames } from "../../parts/lists/names-of.ts";
import { RequestCost } from "../../parts/lists/request-figures.tsx";
import { RequestStatus } from "../../parts/lists/request-status.tsx";
import { detailOf } from "../../parts/lists/request-summary.ts";
import { useAccount } from "../../session.ts";
import { RemoveMedia } from "./remove-media.tsx";
import { RequestActions } from "./request-actions.tsx";
import { Attempts, Parameters, Timeline, Tokens } from "./request-details.tsx";
import { RequestFiles } from "./request-files.tsx";
import { SavedText } from "./saved-text.tsx";

/** Interval while it runs. */
const AGAIN_MS = 2_000;

export interface RequestDrawerProps {
  readonly id: string | undefined;
  /** Ids of the list, in its order. */
  readonly siblings: readonly string[];
  readonly move: (id: string) => void;
  readonly close: () => void;
}

export function RequestDrawer({ id, siblings, move, close }: RequestDrawerProps) {
  return (
    <Drawer
      opened={id !== undefined}
      onClose={close}
      position="right"
      size={600}
      title={<DrawerHead id={id} siblings={siblings} move={move} />}
      styles={{ title: { flex: 1 } }}
    >
      {id !== undefined && <LoadedRequest id={id} />}
    </Drawer>
  );
}

function DrawerHead({ id, siblings, move }: Omit<RequestDrawerProps, "close">) {
  const at = id === undefined ? -1 : siblings.indexOf(id);
  const go = (to: string | undefined) => to !== undefined && move(to);
  const [previous, next] = at < 0 ? [] : [siblings[at - 1], siblings[at + 1]];
  useHotkeys([
    ["ArrowUp", () => id !== undefined && go(previous)],
    ["ArrowDown", () => id !== undefined && go(next)],
  ]);
  return (
    <Group justify="space-between" wrap="nowrap">
      <Text inherit fw={600}>
        Request
      </Text>
      <Group gap={4} wrap="nowrap">
        {[
          { label: "Previous request", to: previous, icon: <IconChevronUp size={16} /> },
          { label: "Next request", to: next, icon: <IconChevronDown size={16} /> },
        ].map(({ label, to, icon }) => (
          <ActionIcon
            key={label}
            variant="subtle"
            color="gray"
            aria-label={label}
            disabled={to === undefined}
            onClick={() => go(to)}
          >
            {icon}
          </ActionIcon>
        ))}
        <CopyButton value={window.location.href}>
          {({ copied, copy }) => (
            <ActionIcon variant="subtle" color="gray" aria-label="Copy link" onClick={copy}>
              {copied ? <IconCheck size={16} /> : <IconLink size={16} />}
            </ActionIcon>
          )}
        </CopyButton>
      </Group>
    </Group>
  );
}

function LoadedRequest({ id }: { id: string }) {
  const { account_id: account } = useAccount();
  const request = useQuery({
    queryKey: ["request", account, id],
    queryFn: ({ signal }) => call("readRequest", { path: { account, id }, signal }),
    refetchInterval: ({ state }) => (state.data?.status === "running" ? AGAIN_MS : false),
  });
  return <Loaded of={request}>{(data) => <Details of={data} />}</Loaded>;
}

function Details({ of: request }: { of: RequestRecord }) {
  const { error } = request;
  return (
    <Stack gap="lg">
      <Heading of={request} />
      {error !== null && (
        <Alert color={request.status === "blocked" ? "orange" : "red"}>
          <Text size="sm">{error.message}</Text>
          <Text size="xs" ff="monospace">
            {error.code ?? error.type}
          </Text>
        </Alert>
      )}
      <Summary of={request} />
      {request.kind === "text" ? (
        <SavedText of={request} />
      ) : (
        <>
          <RequestFiles of={request} />
          <RequestActions of={request} />
        </>
      )}
      <Timeline of={request} />
      {request.kind === "text" && <Tokens of={request} />}
      <PriceLines price={request.price ?? null} />
      <Attempts of={request} />
      <Parameters of={request} />
      {request.kind !== "text" && <RemoveMedia of={request} />}
    </Stack>
  );
}

function Heading({ of: request }: { of: RequestRecord }) {
  const keys = useKeyNames();
  const models = useModelNames();
  return (
    <Stack gap={6}>
      <Group gap="xs">
        <RequestStatus of={request} />
        <Text size="sm" c="dimmed" component="div">
          <Time at={request.created_at} hasSeconds />
        </Text>
      </Group>
      <Title order={2} size="h3">
        {models.nameOf(request.model)}
        <Text span inherit c="dimmed" fw={400}>
          {request.error === null && ` · ${detailOf(request)}`}
        </Text>
      </Title>
      <Text size="xs" c="dimmed" ff="monospace" className="break-anywhere">
        {request.id}
      </Text>
      <Text size="xs" c="dimmed">
        {keys.nameOf(request.api_key_id)}
      </Text>
    </Stack>
  );
}

function Summary({ of: request }: { of: RequestRecord }) {
  const { status, latency, provider, attempts } = request;
  const took = latency === null ? (status === "running" ? "Running" : "Unknown") : secondsText(latency);
  return (
    <SimpleGrid cols={{ base: 2, xs: 4 }} spacing={0} verticalSpacing={0} className="summary-grid">
      <Fact name="Cost">{request.cost === null ? "Pending" : <RequestCost of={request} />}</Fact>
      <Fact name="Latency">{took}</Fact>
      <Fact name="Provider">{provider ?? "–"}</Fact>
      <Fact name="Attempts">{attempts.length === 0 ? "–" : attempts.length}</Fact>
    </SimpleGrid>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="summary-fact">
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fw={600} truncate component="div">
        {children}
      </Text>
    </div>
  );
}
