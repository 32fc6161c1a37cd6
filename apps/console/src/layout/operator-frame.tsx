// The operator frame surrounds every page of the operator's area: its menu, the signed-in person, and the way back.
import { Box, Text } from "@mantine/core";
import {
  IconActivity,
  IconArrowLeft,
  IconChartBar,
  IconClockHour4,
  IconScale,
  IconStack2,
  IconUsersGroup,
} from "@tabler/icons-react";
import { Link, Outlet, useMatchRoute } from "@tanstack/react-router";
import { Suspense } from "react";
import { PageWaiting } from "../parts/lists/page-states.tsx";
import { useSession } from "../session.ts";
import { PersonMenu } from "./head/person-menu.tsx";
import { MenuGroup, MenuLink } from "./menu-links.tsx";
import { SessionEnded } from "./no-access.tsx";
import { PageFrame } from "./page-frame.tsx";
import { WaitingInvitations } from "./waiting-invitations.tsx";

const PAGES = [
  { to: "/operator", label: "Health", icon: IconActivity, exact: true },
  { to: "/operator/accounts", label: "Accounts", icon: IconUsersGroup },
  { to: "/operator/catalogue", label: "Catalogue", icon: IconStack2 },
  { to: "/operator/requests", label: "Open requests", icon: IconClockHour4 },
  { to: "/operator/margin", label: "Margin", icon: IconChartBar },
  { to: "/operator/reconciliation", label: "Reconciliation", icon: IconScale },
] as const;

export function OperatorFrame() {
  return (
    <Suspense fallback={<PageWaiting />}>
      <Frame />
    </Suspense>
  );
}

function Frame() {
  const { person, accounts } = useSession();
  const matches = useMatchRoute();
  if (person === null) return <SessionEnded />;
  const menu = (close: () => void) => (
    <Box pt="xs">
      <MenuGroup title="Operator area">
        {PAGES.map((page) => (
          <MenuLink
            key={page.to}
            label={page.label}
            icon={page.icon}
            active={matches({ to: page.to, fuzzy: !("exact" in page) }) !== false}
            renderRoot={(props) => (
              <Link to={page.to} activeOptions={{ exact: "exact" in page }} {...props} />
            )}
            onClick={close}
          />
        ))}
        {accounts.length > 0 && (
          <MenuLink
            label="Back to my account"
            icon={IconArrowLeft}
            renderRoot={(props) => <Link to="/" {...props} />}
          />
        )}
      </MenuGroup>
    </Box>
  );
  return (
    <PageFrame
      menu={menu}
      area="Operator area"
      place={
        <Text span fw={500}>
          Operator area
        </Text>
      }
      person={<PersonMenu />}
    >
      <WaitingInvitations />
      <Outlet />
    </PageFrame>
  );
}
