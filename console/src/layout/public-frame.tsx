// The frame of the pages that need no account: signing in, and the catalogue.
import { AppShell, Button, Container, Group } from "@mantine/core";
import { Link, Outlet } from "@tanstack/react-router";
import { Suspense } from "react";
import { PageWaiting } from "../parts/page-states.tsx";
import { Brand } from "./brand.tsx";
import { SchemeSwitch } from "./scheme-switch.tsx";

export function PublicFrame() {
  return (
    <AppShell header={{ height: 56 }} padding="md">
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Brand />
          <Group gap="xs" wrap="nowrap">
            <Button
              variant="subtle"
              size="compact-sm"
              renderRoot={(props) => <Link to="/models" {...props} />}
            >
              Models
            </Button>
            <Button variant="subtle" size="compact-sm" component="a" href="/docs" visibleFrom="xs">
              API reference
            </Button>
            <SchemeSwitch />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Main id="content">
        <Container size="lg" px={0}>
          <Suspense fallback={<PageWaiting />}>
            <Outlet />
          </Suspense>
        </Container>
      </AppShell.Main>
    </AppShell>
  );
}
