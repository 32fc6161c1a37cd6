// The account frame surrounds every page of an account: the menu, the account, its balance, the signed-in person.
import { Anchor, Badge, Button, Group, Text, UnstyledButton } from "@mantine/core";
import { IconBook, IconPlus, IconSelector, IconShield } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useMatchRoute } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { call } from "../api/console-client.ts";
import { wholeCentsText } from "../parts/figures/figure-text.ts";
import { Balance as BalanceFigure } from "../parts/figures/figures.tsx";
import { PageWaiting } from "../parts/lists/page-states.tsx";
import { LaterMenu } from "../parts/menus/later-menu.tsx";
import { useAccount, useSession } from "../session.ts";
import { type AccountPage, GROUPS, HOME } from "./head/account-pages.ts";
import { PersonMenu } from "./head/person-menu.tsx";
import { SearchButton } from "./head/search-button.tsx";
import { MenuGroup, MenuLink } from "./menu-links.tsx";
import { NotMember, SessionEnded } from "./no-access.tsx";
import { PageFrame } from "./page-frame.tsx";
import { Suspended } from "./suspended.tsx";
import { WaitingInvitations } from "./waiting-invitations.tsx";

const BALANCE_MS = 30_000;

export function AccountFrame() {
  return (
    <Suspense fallback={<PageWaiting />}>
      <Frame />
    </Suspense>
  );
}

function Frame() {
  const { person, accounts } = useSession();
  const matches = useMatchRoute()({ to: "/accounts/$account", fuzzy: true });
  if (person === null) return <SessionEnded />;
  const isMember = matches !== false && accounts.some(({ account_id }) => account_id === matches.account);
  return isMember ? (
    <Shell>
      <Outlet />
    </Shell>
  ) : (
    <NotMember />
  );
}

function Shell({ children }: { children: ReactNode }) {
  const opened = useAccount();
  const { account_id: account, account_name, may } = opened;
  const { is_operator } = useSession();
  const matches = useMatchRoute();
  const menu = (close: () => void) => {
    const link = (page: AccountPage) =>
      (!("role" in page) || may(page.role)) && (
        <MenuLink
          key={page.to}
          label={page.label}
          icon={page.icon}
          {...(page.label === "Alerts" && { sign: <AlertCount account={account} /> })}
          renderRoot={(props) => (
            <Link to={page.to} params={{ account }} activeOptions={{ exact: "exact" in page }} {...props} />
          )}
          active={matches({ to: page.to, params: { account }, fuzzy: !("exact" in page) }) !== false}
          onClick={close}
        />
      );
    return (
      <>
        <div className="side-pages">
          <MenuGroup>{link(HOME)}</MenuGroup>
          {GROUPS.map(({ title, pages }) => (
            <MenuGroup key={title} title={title}>
              {pages.map(link)}
            </MenuGroup>
          ))}
        </div>
        <MenuGroup>
          <MenuLink label="API reference" icon={IconBook} href="/docs" />
          {is_operator && (
            <MenuLink
              label="Operator area"
              icon={IconShield}
              renderRoot={(props) => <Link to="/operator" {...props} />}
              onClick={close}
            />
          )}
        </MenuGroup>
      </>
    );
  };
  return (
    <PageFrame
      menu={menu}
      area={account_name}
      place={<AccountSwitch />}
      head={
        <>
          <SearchButton />
          <Balance account={account} />
        </>
      }
      person={<PersonMenu of={opened} />}
    >
      <WaitingInvitations />
      <Suspended />
      {children}
    </PageFrame>
  );
}

const loadMenus = () => import("./head/head-menus.tsx");
const AccountMenu = lazy(async () => ({ default: (await loadMenus()).AccountMenu }));

function AccountSwitch() {
  const { account_name } = useAccount();
  return (
    <LaterMenu
      load={loadMenus}
      button={
        <UnstyledButton className="account-switch">
          <Group gap={8} wrap="nowrap">
            <span className="account-sign" aria-hidden="true">
              {account_name.slice(0, 1).toUpperCase()}
            </span>
            <Text span fw={500} truncate maw={{ base: 70, xs: 180 }}>
              {account_name}
            </Text>
            <IconSelector size={15} aria-hidden="true" />
          </Group>
        </UnstyledButton>
      }
    >
      {(button) => <AccountMenu button={button} />}
    </LaterMenu>
  );
}

function useHome(account: string) {
  return useQuery({
    queryKey: ["home", account],
    queryFn: ({ signal }) => call("readHome", { path: { account }, signal }),
    refetchInterval: BALANCE_MS,
  });
}

/** Number of open alerts. A part of its own: the menu is not drawn again for it. */
function AlertCount({ account }: { account: string }) {
  const count = useHome(account).data?.open_alerts.length ?? 0;
  if (count === 0) return null;
  return (
    <Badge color="yellow" size="sm" radius="xl" aria-label={`${count} open`}>
      {count}
    </Badge>
  );
}

/** Balance of the account, and the way to more. */
function Balance({ account }: { account: string }) {
  const home = useHome(account);
  if (home.data === undefined) return null;
  return (
    <Group gap={0} wrap="nowrap" className="head-balance">
      <Anchor
        underline="never"
        c="inherit"
        fw={600}
        px={{ base: 8, sm: 11 }}
        aria-label={`Balance ${wholeCentsText(home.data.balance)}`}
        renderRoot={(props) => <Link to="/accounts/$account/credits" params={{ account }} {...props} />}
      >
        <BalanceFigure usd={home.data.balance} />
      </Anchor>
      <Button
        variant="subtle"
        size="compact-md"
        h="100%"
        radius={0}
        className="top-up"
        leftSection={<IconPlus size={15} aria-hidden="true" />}
        visibleFrom="sm"
        renderRoot={(props) => <Link to="/accounts/$account/credits" params={{ account }} {...props} />}
      >
        Top up
      </Button>
    </Group>
  );
}
