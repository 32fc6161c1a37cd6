// The operator frame surrounds every page of the operator's area: its menu, the signed-in person, and the way back.
import { NavLink } from "@mantine/core";
import { Link, Outlet, useMatchRoute } from "@tanstack/react-router";
import { Suspense } from "react";
import { PageWaiting } from "../parts/lists/page-states.tsx";
import { useSession } from "../session.ts";
import { PageFrame } from "./page-frame.tsx";
import { PersonMenu } from "./person-menu.tsx";

const PAGES = [
  { to: "/operator", label: "Accounts", exact: true },
  { to: "/operator/requests", label: "Open requests" },
  { to: "/operator/providers", label: "Providers" },
] as const;

export function OperatorFrame() {
  return (
    <Suspense fallback={<PageWaiting />}>
      <Frame />
    </Suspense>
  );
}

function Frame() {
  const { accounts } = useSession();
  const matches = useMatchRoute();
  const menu = (close: () => void) => (
    <>
      {PAGES.map((page) => (
        <NavLink
          key={page.to}
          label={page.label}
          active={matches({ to: page.to }) !== false}
          renderRoot={(props) => <Link to={page.to} activeOptions={{ exact: "exact" in page }} {...props} />}
          onClick={close}
        />
      ))}
      {accounts.length > 0 && (
        <NavLink label="Back to my account" renderRoot={(props) => <Link to="/" {...props} />} />
      )}
    </>
  );
  return (
    <PageFrame menu={menu} head={<PersonMenu />}>
      <Outlet />
    </PageFrame>
  );
}
