// The account frame surrounds every page of an account: the account, the menu, the signed-in person.
import { NavLink, Select } from "@mantine/core";
import { Link, Outlet, useMatchRoute, useNavigate } from "@tanstack/react-router";
import { type ReactNode, Suspense } from "react";
import { PageMissing, PageWaiting } from "../parts/lists/page-states.tsx";
import { useAccount, useSession } from "../session.ts";
import { PageFrame } from "./page-frame.tsx";
import { PersonMenu } from "./person-menu.tsx";
import { Suspended } from "./suspended.tsx";

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
  const opened = useAccount();
  const { account_id: account, may } = opened;
  const { accounts, is_operator } = useSession();
  const navigate = useNavigate();
  const matches = useMatchRoute();
  const menu = (close: () => void) => (
    <>
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
      {is_operator && (
        <NavLink
          label="Operator area"
          renderRoot={(props) => <Link to="/operator" {...props} />}
          onClick={close}
        />
      )}
      <NavLink label="API reference" href="/docs" component="a" />
    </>
  );
  return (
    <PageFrame menu={menu} head={<PersonMenu of={opened} />}>
      <Suspended />
      {children}
    </PageFrame>
  );
}
