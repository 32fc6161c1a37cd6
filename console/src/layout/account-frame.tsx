// The frame of every page of an account: which account, where to go, who is signed in.
import { AppShell, Burger, Button, Group, Menu, NavLink, Select, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQueryClient } from "@tanstack/react-query";
import { Link, Outlet, useMatchRoute, useNavigate } from "@tanstack/react-router";
import { type ReactNode, Suspense } from "react";
import { call } from "../api/console-client.ts";
import { sayRefusal } from "../parts/act.ts";
import { PageMissing, PageWaiting } from "../parts/page-states.tsx";
import { useAccount, useSession } from "../session.ts";
import { Brand } from "./brand.tsx";
import { SchemeSwitch } from "./scheme-switch.tsx";

const PAGES = [
  { to: "/accounts/$account", label: "Home", exact: true },
  { to: "/accounts/$account/keys", label: "API keys" },
  { to: "/accounts/$account/credits", label: "Credits" },
  { to: "/accounts/$account/usage", label: "Usage" },
  { to: "/accounts/$account/logs", label: "Logs" },
  { to: "/accounts/$account/playground", label: "Playground" },
  { to: "/accounts/$account/team", label: "Team" },
  { to: "/accounts/$account/audit", label: "Audit log", role: "admin" },
] as const;

export function AccountFrame() {
  return (
    <Suspense fallback={<PageWaiting />}>
      <Frame />
    </Suspense>
  );
}

function Frame() {
  const { accounts } = useSession();
  const matches = useMatchRoute()({ to: "/accounts/$account", fuzzy: true });
  const isMember = matches !== false && accounts.some(({ account_id }) => account_id === matches.account);
  return isMember ? (
    <Shell>
      <Outlet />
    </Shell>
  ) : (
    <PageMissing />
  );
}

function Shell({ children }: { children: ReactNode }) {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const { account_id: account, may } = useAccount();
  const { accounts } = useSession();
  const navigate = useNavigate();
  const matches = useMatchRoute();
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding="md"
    >
      <a className="skip-link" href="#content">
        To the content
      </a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap" gap="sm">
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <Brand />
          </Group>
          <Group gap="xs" wrap="nowrap">
            <SchemeSwitch />
            <PersonMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages">
        {accounts.length > 1 && (
          <Select
            aria-label="Account"
            mb="sm"
            allowDeselect={false}
            value={account}
            data={accounts.map(({ account_id, account_name }) => ({
              value: account_id,
              label: account_name,
            }))}
            onChange={(chosen) => {
              if (chosen !== null) void navigate({ to: "/accounts/$account", params: { account: chosen } });
            }}
          />
        )}
        {PAGES.filter((page) => !("role" in page) || may(page.role)).map((page) => (
          <NavLink
            key={page.to}
            label={page.label}
            renderRoot={(props) => (
              <Link to={page.to} params={{ account }} activeOptions={{ exact: "exact" in page }} {...props} />
            )}
            active={matches({ to: page.to, params: { account }, fuzzy: !("exact" in page) }) !== false}
            onClick={close}
          />
        ))}
        <NavLink label="Models" renderRoot={(props) => <Link to="/models" {...props} />} onClick={close} />
        <NavLink label="API reference" href="/docs" component="a" />
      </AppShell.Navbar>
      <AppShell.Main id="content">{children}</AppShell.Main>
    </AppShell>
  );
}

function PersonMenu() {
  const { person } = useSession();
  const { account_id: account, role } = useAccount();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const signOut = async () => {
    await call("signOut");
    queries.clear();
    await navigate({ to: "/sign-in" });
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" size="compact-sm" maw={200}>
          <Text size="sm" truncate>
            {person?.name || person?.email}
          </Text>
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {person?.email} · {role}
        </Menu.Label>
        <Menu.Item
          renderRoot={(props) => <Link to="/accounts/$account/person" params={{ account }} {...props} />}
        >
          Password and sessions
        </Menu.Item>
        <Menu.Item onClick={() => void signOut().catch(sayRefusal)}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
