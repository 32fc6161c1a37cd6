// The health page shows the routes that do not work as usual, and the attempts of all processes by provider.
import type { ProviderHealth, RouterHealth, RouteStateRecord } from "@gr/console-api";
import {
  Alert,
  Anchor,
  Badge,
  Card,
  Group,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Table,
  Text,
  Title,
} from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { countText, moneyText, secondsText } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { Empty, PageMissing } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { useSession } from "../../session.ts";
import { Figure } from "./figure.tsx";

const AGAIN_MS = 10_000;
const RANGES = [
  { value: "hour", label: "1 h" },
  { value: "day", label: "24 h" },
  { value: "week", label: "7 days" },
] as const;
type Range = (typeof RANGES)[number]["value"];
/** Parts of failed attempts from which a provider is slow to trust, and from which it is degraded. */
const DOUBTFUL = 0.02;
const DEGRADED = 0.1;
/** Fewer attempts degrade no provider. */
const LEAST_ATTEMPTS = 10;

export function Health() {
  const { is_operator } = useSession();
  const { range: wanted } = useSearch({ strict: false });
  const filter = useFilter();
  const range: Range = RANGES.find(({ value }) => value === wanted)?.value ?? "hour";
  const health = useQuery({
    queryKey: ["operator", "health", range],
    queryFn: ({ signal }) => call("readHealth", { query: { range }, signal }),
    enabled: is_operator,
    refetchInterval: AGAIN_MS,
  });
  if (!is_operator) return <PageMissing />;
  return (
    <Stack>
      <Group justify="space-between">
        <Stack gap={2}>
          <Title order={1} size="h2">
            Health
          </Title>
          <Text size="sm" c="dimmed">
            Reports of all processes, at most 10 s old.
          </Text>
        </Stack>
        <SegmentedControl
          aria-label="Range"
          data={[...RANGES]}
          value={range}
          onChange={(value) => void filter({ range: value === "hour" ? null : value })}
        />
      </Group>
      <Loaded of={health}>
        {(data) => (
          <>
            <Troubles of={data} />
            <Figures of={data} />
            <States of={data.states} />
            <Providers of={data.providers} />
          </>
        )}
      </Loaded>
    </Stack>
  );
}

function Troubles({ of: { providers, processes } }: { of: RouterHealth }) {
  const degraded = providers.filter(isDegraded);
  const silent = processes.filter(({ is_alive }) => !is_alive);
  return (
    <>
      {degraded.map((provider) => (
        <Alert key={provider.name} color="red" title={`${provider.name} is degraded`}>
          {percentText(failedPart(provider))} of its attempts failed: {countText(provider.failed)} of{" "}
          {countText(attemptsOf(provider))}. Failed requests are not charged.
        </Alert>
      ))}
      {processes.length === 0 && (
        <Alert color="yellow" title="No process has reported">
          Processes of text-proxy and media-generation report to the catalogue service every 10 s.
        </Alert>
      )}
      {silent.length > 0 && processes.length > silent.length && (
        <Text size="sm" c="dimmed" role="status">
          {silent.length} {silent.length === 1 ? "process has" : "processes have"} stopped within the last
          day.
        </Text>
      )}
    </>
  );
}

function Figures({ of: { providers, processes, states, overdue } }: { of: RouterHealth }) {
  const attempts = providers.reduce((sum, provider) => sum + attemptsOf(provider), 0);
  const failed = providers.reduce((sum, provider) => sum + provider.failed, 0);
  const alive = processes.filter(({ is_alive }) => is_alive).length;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing={{ base: 10, sm: "md" }}>
      <Figure name="Attempts" note={`${alive} ${alive === 1 ? "process reports" : "processes report"}`}>
        {countText(attempts)}
      </Figure>
      <Figure name="Failed at providers" note={`${countText(failed)} attempts`}>
        {attempts === 0 ? "–" : percentText(failed / attempts)}
      </Figure>
      <Figure name="Routes not usual" note="Breakers, pauses, losses">
        {states.length}
      </Figure>
      <Figure
        name="Requests past their deadline"
        note={
          <Anchor size="xs" renderRoot={(props) => <Link to="/operator/requests" {...props} />}>
            {moneyText(overdue.held)} held
          </Anchor>
        }
      >
        {countText(overdue.requests)}
      </Figure>
    </SimpleGrid>
  );
}

const CONDITIONS = {
  open: { color: "red", word: "Open", text: "Failures in a row: other routes are preferred" },
  probing: { color: "yellow", word: "Probing", text: "One request tests the route" },
  cooling: { color: "yellow", word: "Pause", text: "The provider asked for a pause" },
  losing: { color: "red", word: "Closed", text: "Its bills were above the charges" },
} as const;

function States({ of: states }: { of: readonly RouteStateRecord[] }) {
  return (
    <Card component="section" aria-label="Routes that are not usual">
      <Title order={2} size="h4" mb="sm">
        Routes that are not usual
      </Title>
      {states.length === 0 ? (
        <Text size="sm" c="dimmed">
          All breakers are closed.
        </Text>
      ) : (
        <RowsTable heads={["Route", "State", "Since", "Next change", "Processes"]} figures={1} minWidth={640}>
          {states.map(({ provider, model, condition, since, until, loss, processes }) => (
            <Table.Tr key={`${provider} ${model} ${condition}`}>
              <Table.Td className="break-anywhere">
                <Text fw={500}>{provider}</Text>
                <Text size="xs" c="dimmed">
                  {model}
                </Text>
              </Table.Td>
              <Table.Td>
                <Badge color={CONDITIONS[condition].color}>{CONDITIONS[condition].word}</Badge>
                <Text size="xs" c="dimmed">
                  {CONDITIONS[condition].text}
                  {loss !== null && `: ${moneyText(loss)}`}
                </Text>
              </Table.Td>
              <Table.Td>{since === null ? "–" : <Time at={since} isShort />}</Table.Td>
              <Table.Td>{until === null ? "–" : <Time at={until} isShort />}</Table.Td>
              <Table.Td ta="right">{processes}</Table.Td>
            </Table.Tr>
          ))}
        </RowsTable>
      )}
    </Card>
  );
}

function Providers({ of: providers }: { of: readonly ProviderHealth[] }) {
  const all = providers.reduce((sum, provider) => sum + attemptsOf(provider), 0);
  return (
    <Card component="section" aria-label="Providers">
      <Title order={2} size="h4" mb="sm">
        Providers
      </Title>
      {providers.length === 0 ? (
        <Empty title="No attempts in this time">
          Each request to a provider appears here, 10 s after its end.
        </Empty>
      ) : (
        <RowsTable
          heads={["Provider", "State", "Over time", "Success", "Median", "p95", "Share"]}
          figures={4}
          minWidth={760}
        >
          {providers.map((provider) => (
            <Table.Tr key={provider.name}>
              <Table.Td fw={500}>{provider.name}</Table.Td>
              <Table.Td>
                <ProviderState of={provider} />
              </Table.Td>
              <Table.Td>
                <Strip of={provider} />
              </Table.Td>
              <Table.Td ta="right" className="figures">
                {percentText(1 - failedPart(provider))}
              </Table.Td>
              <Table.Td ta="right" className="figures">
                {provider.median_ms === null ? "–" : secondsText(provider.median_ms)}
              </Table.Td>
              <Table.Td ta="right" className="figures">
                {provider.p95_ms === null ? "–" : secondsText(provider.p95_ms)}
              </Table.Td>
              <Table.Td ta="right" className="figures">
                {percentText(attemptsOf(provider) / all)}
              </Table.Td>
            </Table.Tr>
          ))}
        </RowsTable>
      )}
    </Card>
  );
}

function ProviderState({ of: provider }: { of: ProviderHealth }) {
  if (isDegraded(provider)) return <Badge color="red">Degraded</Badge>;
  if (failedPart(provider) >= DOUBTFUL) return <Badge color="yellow">Some failures</Badge>;
  return <Badge color="green">Healthy</Badge>;
}

/** A bar for each window of the range: its colour is the part of failures. */
function Strip({ of: { name, windows } }: { of: ProviderHealth }) {
  const bad = windows.filter((window) => failedPart(window) >= DOUBTFUL).length;
  return (
    <div
      className="health-strip"
      role="img"
      aria-label={`${name}: failures in ${bad} of ${windows.length} windows`}
    >
      {windows.map((window) => (
        <i key={window.at} data-state={stateOf(window)} />
      ))}
    </div>
  );
}

type Ends = Pick<ProviderHealth, "delivered" | "failed" | "refused">;

const attemptsOf = ({ delivered, failed, refused }: Ends) => delivered + failed + refused;

function isDegraded(ends: Ends): boolean {
  return ends.delivered + ends.failed >= LEAST_ATTEMPTS && failedPart(ends) >= DEGRADED;
}

/** Requests that a provider refuses for their content say nothing about the provider. */
function failedPart({ delivered, failed }: Ends): number {
  return delivered + failed === 0 ? 0 : failed / (delivered + failed);
}

function stateOf(window: Ends): "none" | "good" | "doubtful" | "bad" {
  if (attemptsOf(window) === 0) return "none";
  const part = failedPart(window);
  return part >= DEGRADED ? "bad" : part >= DOUBTFUL ? "doubtful" : "good";
}

/** "99.4 %"; a part below the last digit is never rounded to all or nothing. */
export function percentText(part: number): string {
  const tenths = Math.round(part * 1_000);
  if (part > 0 && tenths === 0) return "< 0.1 %";
  if (part < 1 && tenths === 1_000) return "> 99.9 %";
  return tenths % 10 === 0 ? `${tenths / 10} %` : `${(tenths / 10).toFixed(1)} %`;
}
