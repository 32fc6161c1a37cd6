// The keys page lists an account's keys with their limits, their spend, and their actions.
import type { BudgetRecord, KeyRecord } from "@gr/console-api";
import { Badge, Button, Group, Stack, Switch, Table, Tabs, Text, Title } from "@mantine/core";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { lazy, useState } from "react";
import { call } from "../../api/console-client.ts";
import { countText, fromNow, moneyText } from "../../parts/figures/figure-text.ts";
import { Money, Time } from "../../parts/figures/figures.tsx";
import { LimitBar } from "../../parts/figures/limit-bar.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { later } from "../../parts/later.tsx";
import { Empty } from "../../parts/lists/page-states.tsx";
import { PagedRows } from "../../parts/lists/paged-rows.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { LaterMenu } from "../../parts/menus/later-menu.tsx";
import { useAccount } from "../../session.ts";
import type { OpenedDialog } from "./key-dialog.tsx";

type Kind = KeyRecord["kind"];
const KeyDialog = later(async () => (await import("./key-dialog.tsx")).KeyDialog);

export function Keys() {
  const { account_id: account, may } = useAccount();
  const search = useSearch({ strict: false });
  const kind: Kind = search.kind === "management" ? "management" : "normal";
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<OpenedDialog>();
  const mayChange = may(kind === "management" ? "admin" : "developer");
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          API keys
        </Title>
        {mayChange && <Button onClick={() => setDialog({ name: "new", kind })}>New key</Button>}
      </Group>
      <Tabs
        value={kind}
        onChange={(value) =>
          void navigate({
            to: "/accounts/$account/keys",
            params: { account },
            search: value === "management" ? { kind: value } : {},
          })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="normal">Keys</Tabs.Tab>
          <Tabs.Tab value="management">Management keys</Tabs.Tab>
        </Tabs.List>
      </Tabs>
      {kind === "management" && (
        <Text size="sm" c="dimmed">
          A management key creates, lists and deletes keys for programs. It cannot generate.
        </Text>
      )}
      <PagedRows
        queryKey={["keys", account, kind]}
        read={(after, signal) =>
          call("listKeys", { path: { account }, query: { kind, ...(after && { after }) }, signal })
        }
        empty={
          <Empty title="No keys yet">
            A key lets a program spend from the account, up to a limit that you set.
          </Empty>
        }
      >
        {(keys) => <KeyTable keys={keys} mayChange={mayChange} open={setDialog} />}
      </PagedRows>
      {dialog !== undefined && (
        <KeyDialog dialog={dialog} open={setDialog} close={() => setDialog(undefined)} />
      )}
    </Stack>
  );
}

interface TableProps {
  readonly keys: readonly KeyRecord[];
  readonly mayChange: boolean;
  readonly open: (dialog: OpenedDialog) => void;
}

function KeyTable({ keys, mayChange, open }: TableProps) {
  return (
    <RowsTable heads={["Name", "Spend", "Remaining", "Expires", "On"]} hasActions minWidth={820}>
      {keys.map((key) => (
        <Table.Tr key={key.id}>
          <Table.Td>
            <Text fw={600} className="break-anywhere">
              {key.name}
            </Text>
            <Text size="xs" c="dimmed" ff="monospace">
              {key.hint}
            </Text>
            <Former of={key} />
            <Allowed of={key} />
          </Table.Td>
          <Table.Td>
            <Spent of={key} />
          </Table.Td>
          <Table.Td>
            <CanSpend of={key} />
          </Table.Td>
          <Table.Td>{key.expires_at === null ? "never" : <Time at={key.expires_at} />}</Table.Td>
          <Table.Td>
            <OnSwitch of={key} mayChange={mayChange} />
          </Table.Td>
          <Table.Td>{mayChange && <KeyMenu of={key} open={open} />}</Table.Td>
        </Table.Tr>
      ))}
    </RowsTable>
  );
}

/** The secret before a rotation, while programs may still use it. */
function Former({ of: { former_secret: former } }: { of: KeyRecord }) {
  if (former === null) return null;
  return (
    <Text size="xs" c="dimmed" title={new Date(former.ends_at).toLocaleString()}>
      replaced <code>{former.hint}</code> ends {fromNow(former.ends_at)}
    </Text>
  );
}

/** The lists and the default format of a key in a few words; their names are in the title. */
function Allowed({ of: key }: { of: KeyRecord }) {
  const { allowed_models: models, allowed_providers: providers, default_response_format: format } = key;
  const only = [countOf(models, "model"), countOf(providers, "provider")].filter(
    (part) => part !== undefined,
  );
  const parts = [
    ...(only.length === 0 ? [] : [`only ${only.join(", ")}`]),
    ...(format === null ? [] : [`${format} by default`]),
    ...(key.saves_texts ? ["saves prompts and answers"] : []),
  ];
  if (parts.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" title={[...(models ?? []), ...(providers ?? [])].join(", ")}>
      {parts.join(" · ")}
    </Text>
  );
}

function countOf(names: readonly string[] | null, what: string): string | undefined {
  if (names === null) return undefined;
  const [first = ""] = names;
  return names.length === 1 ? first : `${names.length} ${what}s`;
}

function Spent({ of: key }: { of: KeyRecord }) {
  if (key.kind === "management") return <Text c="dimmed">spends nothing</Text>;
  return (
    <Stack gap={4}>
      <LimitBar of={key} label={`Share of the limit of ${key.name} that is spent`} />
      <Text size="xs" c="dimmed">
        {countText(key.total_requests)} {key.total_requests === 1 ? "request" : "requests"}
        {key.last_used_on !== null && `, last used ${key.last_used_on}`}
        {key.resets_at !== null && `, resets ${fromNow(key.resets_at)}`}
      </Text>
      {key.budget !== null && <Shared budget={key.budget} />}
    </Stack>
  );
}

/** The budget above a key, in a few words. */
function Shared({ budget }: { budget: BudgetRecord }) {
  const { name, state, remaining } = budget;
  const left = remaining === null ? "no limit" : `${moneyText(remaining)} left`;
  return (
    <Text size="xs" c="dimmed" className="break-anywhere">
      shares the budget {name}: {state === "open" ? left : state}
    </Text>
  );
}

const STATUS = {
  active: { color: "green", text: "active" },
  disabled: { color: "gray", text: "switched off" },
  expired: { color: "orange", text: "expired" },
  blocked: { color: "red", text: "limit reached" },
} as const;

const LIMITED_BY = { key: "key budget", budget: "shared budget", balance: "account balance" } as const;

function CanSpend({ of: key }: { of: KeyRecord }) {
  const { color, text } = STATUS[key.status];
  return (
    <Stack gap={4} align="flex-start">
      {key.kind === "normal" && <Money usd={key.available} />}
      <Badge color={color} variant="light">
        {text}
      </Badge>
      {key.kind === "normal" && key.limited_by !== null && (
        <Text size="xs" c="dimmed">
          limited by {LIMITED_BY[key.limited_by]}
        </Text>
      )}
    </Stack>
  );
}

function OnSwitch({ of: key, mayChange }: { of: KeyRecord; mayChange: boolean }) {
  const { account_id: account } = useAccount();
  const change = useAct({
    send: (is_active: boolean) => call("changeKey", { path: { account, id: key.id }, body: { is_active } }),
    changes: [["keys", account]],
  });
  return (
    <Switch
      color={key.status === "active" ? "green" : "gray"}
      checked={change.isPending ? change.variables : key.is_active}
      disabled={!mayChange || change.isPending}
      onChange={({ currentTarget }) => change.mutate(currentTarget.checked)}
      aria-label={`${key.name} may be used`}
    />
  );
}

const loadMenu = () => import("./key-menu.tsx");
const KeyMenuItems = lazy(async () => ({ default: (await loadMenu()).KeyMenu }));

function KeyMenu({ of: key, open }: { of: KeyRecord; open: TableProps["open"] }) {
  const button = (
    <Button variant="default" size="compact-sm" aria-label={`Actions for ${key.name}`}>
      ⋯
    </Button>
  );
  return (
    <LaterMenu button={button} load={loadMenu}>
      {(target) => <KeyMenuItems of={key} open={open} button={target} />}
    </LaterMenu>
  );
}
