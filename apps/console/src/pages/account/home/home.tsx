// The home page shows an account's balance and spend, its latest requests, and the budgets of its keys; a new account has first
// steps.
import type { KeyRecord } from "@gr/console-api";
import { Anchor, Badge, Button, Group, Progress, Stack, Table, Text, Title } from "@mantine/core";
import { usePrefetchQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "../../../api/console-client.ts";
import { modelsQuery } from "../../../models-query.ts";
import { barColor, NEARLY_USED } from "../../../parts/figures/budget-share.ts";
import { moneyText } from "../../../parts/figures/figure-text.ts";
import { Time } from "../../../parts/figures/figures.tsx";
import { Loaded } from "../../../parts/lists/loaded.tsx";
import { useModelNames } from "../../../parts/lists/names-of.ts";
import { Empty } from "../../../parts/lists/page-states.tsx";
import { LatencyCell, RequestCost } from "../../../parts/lists/request-figures.tsx";
import { RequestStatus } from "../../../parts/lists/request-status.tsx";
import { summaryOf } from "../../../parts/lists/request-summary.ts";
import { RowsTable } from "../../../parts/lists/rows-table.tsx";
import { Thumbnail } from "../../../parts/media/thumbnail.tsx";
import { Section } from "../../../parts/section.tsx";
import { useAccount } from "../../../session.ts";
import { RangeSwitch } from "../../usage/range-switch.tsx";
import { UsageChart } from "../../usage/usage-chart.tsx";
import { groupsOf } from "../../usage/usage-series.ts";
import { Attention } from "../attention.tsx";
import { limitedKeys, usedPercent, useLimitedKeys } from "../limited-keys.ts";
import { FirstSteps } from "./first-steps.tsx";
import { HOME_PRESETS, homeActivityQuery, useHomeActivity, useHomePreset } from "./home-activity.ts";
import { HomeTiles } from "./home-tiles.tsx";

/** Interval that turns the first request green while its sender still looks. */
const FIRST_STEPS_MS = 3_000;
const USUAL_MS = 30_000;
const LATEST = 6;
const BUDGETS = 5;
const SPEND_CHART = 220;

export function Home() {
  const { account_id: account } = useAccount();
  const preset = useHomePreset();
  // Parts of the page below need these answers. Their requests start with the first one.
  usePrefetchQuery(modelsQuery);
  usePrefetchQuery(homeActivityQuery(account, preset));
  const home = useQuery({
    queryKey: ["home", account],
    queryFn: ({ signal }) => call("readHome", { path: { account }, signal }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && !state.data.first_steps.has_request ? FIRST_STEPS_MS : USUAL_MS,
  });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Home
        </Title>
        <Group gap="xs">
          <RangeSwitch presets={HOME_PRESETS} chosen={preset?.value} />
          <Button
            variant="default"
            visibleFrom="xs"
            renderRoot={(props) => <Link to="/accounts/$account/keys" params={{ account }} {...props} />}
          >
            API keys
          </Button>
        </Group>
      </Group>
      <Loaded of={home}>
        {(data) => (
          <>
            <HomeTiles account={account} home={data} />
            <FirstSteps account={account} steps={data.first_steps} />
            <div className="home-columns home-chart">
              <SpendOverTime account={account} />
              <Attention home={data} />
            </div>
            <div className="home-columns">
              <LatestRequests account={account} />
              <Budgets account={account} />
            </div>
          </>
        )}
      </Loaded>
    </Stack>
  );
}

function SpendOverTime({ account }: { account: string }) {
  const models = useModelNames();
  const preset = useHomePreset();
  const activity = useHomeActivity();
  const link = (
    <Anchor
      size="sm"
      renderRoot={(props) => (
        <Link
          to="/accounts/$account/usage"
          params={{ account }}
          search={preset === undefined ? {} : { range: preset.value }}
          {...props}
        />
      )}
    >
      Open usage
    </Anchor>
  );
  return (
    <Section title={`Spend per ${preset?.buckets[0] ?? "day"}, by model`} link={link}>
      <Loaded of={activity}>
        {(data) =>
          Number(data.total.spend) === 0 ? (
            <Empty title={`No spend in the last ${preset?.label ?? ""}`}>
              Requests appear here by model.
            </Empty>
          ) : (
            <UsageChart
              activity={data}
              groups={groupsOf(data, "model", models.nameOf)}
              groupBy="model"
              metric="spend"
              search={{}}
              height={SPEND_CHART}
            />
          )
        }
      </Loaded>
    </Section>
  );
}

function LatestRequests({ account }: { account: string }) {
  const query = { limit: String(LATEST) };
  const latest = useQuery({
    queryKey: ["requests", account, "latest"],
    queryFn: ({ signal }) => call("listRequests", { path: { account }, query, signal }),
    refetchInterval: USUAL_MS,
  });
  const to = (name: string, search: object) => (
    <Anchor
      size="sm"
      renderRoot={(props) => (
        <Link to="/accounts/$account/logs" params={{ account }} search={search} {...props} />
      )}
    >
      {name}
    </Anchor>
  );
  const link = (
    <Group gap="sm">
      {to("Failed only", { status: "failed" })}
      {to("All logs", {})}
    </Group>
  );
  return (
    <Section title="Latest requests" link={link}>
      <Loaded of={latest}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No requests yet">Send a request from the playground or with curl.</Empty>
          ) : (
            <RowsTable heads={["Request", "Time", "Status", "Latency", "Cost"]} figures={2} minWidth={520}>
              {data.map((row) => (
                <Table.Tr key={row.id}>
                  <Table.Td maw={320}>
                    <Group gap="xs" wrap="nowrap">
                      <Thumbnail of={row} />
                      <Stack gap={0} miw={0}>
                        <Anchor
                          underline="hover"
                          c="inherit"
                          fw={500}
                          truncate
                          renderRoot={(props) => (
                            <Link
                              to="/accounts/$account/logs"
                              params={{ account }}
                              search={{ request: row.id }}
                              {...props}
                            />
                          )}
                        >
                          {summaryOf(row)}
                        </Anchor>
                        <Text size="xs" c="dimmed" truncate>
                          {row.model}
                        </Text>
                      </Stack>
                    </Group>
                  </Table.Td>
                  <Table.Td>
                    <Time at={row.created_at} isShort />
                  </Table.Td>
                  <Table.Td>
                    <RequestStatus of={row} />
                  </Table.Td>
                  <LatencyCell of={row} />
                  <Table.Td ta="right">
                    <RequestCost of={row} />
                  </Table.Td>
                </Table.Tr>
              ))}
            </RowsTable>
          )
        }
      </Loaded>
    </Section>
  );
}

function Budgets({ account }: { account: string }) {
  const keys = useLimitedKeys();
  const link = (
    <Anchor
      size="sm"
      renderRoot={(props) => <Link to="/accounts/$account/keys" params={{ account }} {...props} />}
    >
      All keys
    </Anchor>
  );
  return (
    <Section title="Key budgets" link={link}>
      <Loaded of={keys}>
        {({ data }) => {
          const fullest = limitedKeys(data);
          return fullest.length === 0 ? (
            <Empty title="No key has a budget">A limit keeps a key from spending more.</Empty>
          ) : (
            <Stack gap="md">
              {fullest.slice(0, BUDGETS).map((key) => (
                <Budget key={key.id} of={key} />
              ))}
            </Stack>
          );
        }}
      </Loaded>
    </Section>
  );
}

function Budget({ of: key }: { of: KeyRecord }) {
  const used = usedPercent(key);
  return (
    <Stack gap={6}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text fw={500} truncate>
          {key.name}
        </Text>
        {used >= NEARLY_USED && (
          <Badge color={barColor(used)} flex="none">
            {used >= 100 ? "Limit reached" : `${used} % used`}
          </Badge>
        )}
      </Group>
      <Progress value={used} color={barColor(used)} size="sm" aria-label={`${key.name}: ${used} % used`} />
      <Group justify="space-between" gap="xs">
        <Text size="xs" c="dimmed" className="figures">
          {moneyText(key.period_spend)} of {moneyText(key.spend_limit ?? "0")}
        </Text>
        <Text size="xs" c="dimmed">
          {key.resets_at === null ? "No reset" : <Resets at={key.resets_at} />}
        </Text>
      </Group>
    </Stack>
  );
}

function Resets({ at }: { at: string }) {
  return (
    <>
      Resets <Time at={at} isShort />
    </>
  );
}
