// The frame of every page: the head with the name of the product, a menu where there are pages to choose from, the content.
import { AppShell, Burger, Container, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type ReactNode, Suspense } from "react";
import { PageWaiting } from "../parts/lists/page-states.tsx";
import { Brand } from "./brand.tsx";
import { SchemeSwitch } from "./scheme-switch.tsx";

export interface PageFrameProps {
  /** Links to pages. @param close must be called after a choice: on a phone the menu covers the page */
  readonly menu?: (close: () => void) => ReactNode;
  /** At the right of the head. */
  readonly head: ReactNode;
  readonly children: ReactNode;
}

export function PageFrame({ menu, head, children }: PageFrameProps) {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const navbar = menu && { navbar: { width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } } };
  return (
    <AppShell header={{ height: 56 }} padding="md" {...navbar}>
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <AppShell.Header px="md">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap" gap="sm">
            {menu && <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />}
            <Brand short={menu !== undefined} />
          </Group>
          <Group gap="xs" wrap="nowrap">
            {head}
            <SchemeSwitch />
          </Group>
        </Group>
      </AppShell.Header>
      {menu && (
        <AppShell.Navbar p="sm" aria-label="Pages">
          {menu(close)}
        </AppShell.Navbar>
      )}
      <AppShell.Main id="content">
        <Container size="lg" px={0}>
          <Suspense fallback={<PageWaiting />}>{children}</Suspense>
        </Container>
      </AppShell.Main>
    </AppShell>
  );
}
