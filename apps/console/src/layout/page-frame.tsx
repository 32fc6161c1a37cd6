// The frame of every page: the menu at the left where there are pages to choose from, the head, the content.
import { AppShell, Burger, Container, Group, Text } from "@mantine/core";
import { useDisclosure, useDocumentTitle, useMediaQuery } from "@mantine/hooks";
import { useMatches } from "@tanstack/react-router";
import { type ReactNode, Suspense, useDeferredValue } from "react";
import { useHasBeen } from "../parts/later.tsx";
import { PageWaiting } from "../parts/lists/page-states.tsx";
import { Brand } from "./brand.tsx";
import { SchemeSwitch } from "./scheme-switch.tsx";

/** Narrower than Mantine's breakpoint sm. */
const PHONE = "(max-width: 47.99em)";

export interface PageFrameProps {
  /** Links to pages. @param close must be called after a choice: on a phone the menu covers the page */
  readonly menu?: (close: () => void) => ReactNode;
  /** Name of the account or area, in the title of the document. */
  readonly area?: string | undefined;
  /** First part of the head, before the name of the page. */
  readonly place?: ReactNode;
  /** At the right of the head. */
  readonly head?: ReactNode;
  /** Last in the head. */
  readonly person?: ReactNode;
  readonly children: ReactNode;
}

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    /** Name of the page, in the head and in the title of the document. */
    readonly title?: string;
  }
}

export function PageFrame(props: PageFrameProps) {
  // The first drawing has pauses for input and painting. The page shows its waiting page until then.
  const isDrawn = useDeferredValue(true, document.querySelector("#root:not(:has(> :not(style)))") === null);
  return isDrawn && <Frame {...props} />;
}

function Frame({ menu, area, place, head, person, children }: PageFrameProps) {
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const isPhone = useMediaQuery(PHONE, false, { getInitialValueInEffect: false });
  // On a phone the menu is drawn when somebody opens it.
  const isMenuDrawn = useHasBeen(isOpen || !isPhone);
  const title = usePageTitle(area);
  const navbar = menu && { navbar: { width: 236, breakpoint: "sm", collapsed: { mobile: !isOpen } } };
  return (
    <AppShell layout="alt" header={{ height: 56 }} padding={{ base: "md", md: "xl" }} {...navbar}>
      <a className="skip-link" href="#content">
        Skip to content
      </a>
      <AppShell.Header px={{ base: "md", md: "xl" }} className="page-head">
        <Group h="100%" justify="space-between" wrap="nowrap">
          <Group wrap="nowrap" gap="xs" miw={0}>
            {menu && <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />}
            {menu === undefined && <Brand />}
            {place}
            {place !== undefined && title !== undefined && (
              <Group gap="xs" wrap="nowrap" visibleFrom="xs" miw={0}>
                <Text span c="dimmed" aria-hidden="true">
                  /
                </Text>
                <Text span fw={500} truncate>
                  {title}
                </Text>
              </Group>
            )}
          </Group>
          <Group gap="xs" wrap="nowrap">
            {head}
            <SchemeSwitch />
            {person}
          </Group>
        </Group>
      </AppShell.Header>
      {menu && (
        <AppShell.Navbar p="sm" aria-label="Pages" className="side-menu">
          <Group px="xs" h={44} justify="space-between" wrap="nowrap">
            <Brand />
            <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Hide pages" />
          </Group>
          {isMenuDrawn && menu(close)}
        </AppShell.Navbar>
      )}
      <AppShell.Main id="content" className="page-ground">
        <Container size={1280} px={0}>
          <Suspense fallback={<PageWaiting />}>{children}</Suspense>
        </Container>
      </AppShell.Main>
    </AppShell>
  );
}

/** Sets the title of the document: page, area, product. @returns the name of the page */
function usePageTitle(area: string | undefined): string | undefined {
  const titles = useMatches({ select: (matches) => matches.map(({ staticData }) => staticData.title) });
  const title = titles.findLast((each) => each !== undefined);
  useDocumentTitle([title, area, "Generation Router"].filter((each) => each !== undefined).join(" · "));
  return title;
}
