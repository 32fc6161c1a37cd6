// The frame of the pages that are open to everybody: signing in, and the catalogue.
import { Button } from "@mantine/core";
import { Link, Outlet } from "@tanstack/react-router";
import { PageFrame } from "./page-frame.tsx";

export function PublicFrame() {
  return (
    <PageFrame
      head={
        <>
          <Button variant="subtle" size="compact-sm" renderRoot={(props) => <Link to="/models" {...props} />}>
            Models
          </Button>
          <Button variant="subtle" size="compact-sm" component="a" href="/docs" visibleFrom="xs">
            API reference
          </Button>
        </>
      }
    >
      <Outlet />
    </PageFrame>
  );
}
