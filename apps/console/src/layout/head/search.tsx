// The search opens pages, models, logs of keys, and other accounts by their names, and a request by its id.
import { createSpotlight, Spotlight } from "@mantine/spotlight";
import { IconBuilding, IconKey, IconLayoutGrid, IconList, IconSearch, IconShield } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { type ComponentType, useEffect, useState } from "react";
import "../../later-styles.ts";
import "@mantine/spotlight/styles.css";
import { useKeyNames, useModelNames, WEB_TOKEN } from "../../parts/lists/names-of.ts";
import { useAccount, useSession } from "../../session.ts";
import { ACCOUNT_PAGES } from "./account-pages.ts";

const [store, spotlight] = createSpotlight();
/** Entries of one group. */
const MOST = 6;
const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const MOST_HEIGHT = 420;

interface Entry {
  readonly id: string;
  readonly label: string;
  readonly note?: string;
  readonly open: () => unknown;
}

interface EntryGroup {
  readonly title: string;
  readonly icon: ComponentType<{ size: number }>;
  readonly entries: readonly Entry[];
  /** Entries are shown before somebody types. */
  readonly isFirst?: boolean;
}

export function Search({ isOpen, close }: { isOpen: boolean; close: () => void }) {
  const [query, setQuery] = useState("");
  useEffect(() => (isOpen ? spotlight.open() : spotlight.close()), [isOpen]);
  const found = useEntries(query.trim());
  return (
    <Spotlight.Root
      store={store}
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      scrollable
      maxHeight={MOST_HEIGHT}
      onSpotlightClose={close}
      attributes={{ content: { "aria-label": "Search" } }}
    >
      <Spotlight.Search
        aria-label="Search"
        placeholder="Pages, models, keys, accounts, or an ID"
        leftSection={<IconSearch size={18} aria-hidden="true" />}
      />
      <Spotlight.ActionsList>
        {found.map(({ title, icon: Icon, entries }) => (
          <Spotlight.ActionsGroup key={title} label={title}>
            {entries.map(({ id, label, note, open }) => (
              <Spotlight.Action
                key={id}
                label={label}
                {...(note !== undefined && { description: note })}
                leftSection={<Icon size={18} />}
                onClick={() => void open()}
              />
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {found.length === 0 && <Spotlight.Empty>Nothing has this name or ID.</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

/** Groups with entries that contain each word of a query. */
function useEntries(query: string): readonly EntryGroup[] {
  const all = useAllEntries(query);
  const words = query.toLowerCase().split(/\s+/);
  const matches = ({ id, label, note = "" }: Entry) => {
    const text = `${label} ${note} ${id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return all
    .map(({ entries, isFirst = false, ...group }) => ({
      ...group,
      entries: query === "" && !isFirst ? [] : entries.filter(matches).slice(0, isFirst ? undefined : MOST),
    }))
    .filter(({ entries }) => entries.length > 0);
}

function useAllEntries(query: string): readonly EntryGroup[] {
  const { account_id: account, may } = useAccount();
  const { accounts, is_operator: isOperator } = useSession();
  const navigate = useNavigate();
  const keys = useKeyNames();
  const models = useModelNames();
  const params = { account };
  const logs = (search: object) => navigate({ to: "/accounts/$account/logs", params, search });
  const pages = ACCOUNT_PAGES.filter((page) => !("role" in page) || may(page.role));
  const operator: Entry = {
    id: "operator",
    label: "Operator area",
    open: () => navigate({ to: "/operator" }),
  };
  return [
    {
      ...{ title: "Requests", icon: IconList },
      entries: ID.test(query)
        ? [{ id: query, label: "Open request", note: query, open: () => logs({ request: query }) }]
        : [],
    },
    {
      ...{ title: "Pages", icon: IconLayoutGrid, isFirst: true },
      entries: pages.map(({ to, label }) => ({ id: to, label, open: () => navigate({ to, params }) })),
    },
    { title: "Operator", icon: IconShield, isFirst: true, entries: isOperator ? [operator] : [] },
    {
      ...{ title: "Accounts", icon: IconBuilding, isFirst: true },
      entries: accounts
        .filter(({ account_id }) => account_id !== account)
        .map(({ account_id, account_name: label, role: note }) => ({
          ...{ id: account_id, label, note },
          open: () => navigate({ to: "/accounts/$account", params: { account: account_id } }),
        })),
    },
    {
      ...{ title: "Keys", icon: IconKey },
      entries: keys.choices
        .filter(({ value }) => value !== WEB_TOKEN)
        .map(({ value: id, label }) => ({ id, label, note: "Its logs", open: () => logs({ key_id: id }) })),
    },
    {
      ...{ title: "Models", icon: IconLayoutGrid },
      entries: models.choices.map(({ value: id, label }) => ({
        ...{ id, label },
        open: () => navigate({ to: "/accounts/$account/models/$", params: { account, _splat: id } }),
      })),
    },
  ];
}
