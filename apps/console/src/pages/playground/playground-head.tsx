// The head of the playground: its title, its tabs, and the code of the request in the form.
import { Button, Group, SegmentedControl, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCode, IconColumns2, IconMessage, IconMovie, IconPencil, IconPhoto } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { later, useHasBeen } from "../../parts/later.tsx";
import type { NamedRequests } from "./code-drawer.tsx";
import type { TabName } from "./drafts.ts";

const CodeDrawer = later(async () => (await import("./code-drawer.tsx")).CodeDrawer);

const TABS = [
  { value: "image", name: "Image", icon: IconPhoto },
  { value: "edit", name: "Edit", icon: IconPencil },
  { value: "video", name: "Video", icon: IconMovie },
  { value: "text", name: "Text", icon: IconMessage },
  { value: "compare", name: "Compare", icon: IconColumns2 },
] as const satisfies readonly { value: TabName; name: string; icon: unknown }[];

export interface PlaygroundHeadProps {
  readonly tab: TabName;
  readonly requests: NamedRequests;
  /** Further buttons. */
  readonly children?: ReactNode;
}

export function PlaygroundHead({ tab, requests, children }: PlaygroundHeadProps) {
  const filter = useFilter();
  const [isOpen, { open, close }] = useDisclosure(false);
  const hasOpened = useHasBeen(isOpen);
  const data = TABS.map(({ value, name, icon: Icon }) => ({
    value,
    label: (
      <Group gap={6} wrap="nowrap" justify="center">
        <Icon size={16} aria-hidden="true" className="hidden-on-phones" />
        {name}
      </Group>
    ),
  }));
  return (
    <Group justify="space-between" gap="sm">
      <Group gap="md" className="grows-on-phones">
        <Title order={1} size="h2">
          Playground
        </Title>
        <SegmentedControl
          aria-label="Mode"
          className="grows-on-phones"
          data={data}
          value={tab}
          onChange={(value) => void filter({ tab: value, model: null })}
        />
      </Group>
      <Group gap="xs">
        {children}
        <Button variant="default" leftSection={<IconCode size={16} aria-hidden="true" />} onClick={open}>
          Code
        </Button>
      </Group>
      {hasOpened && <CodeDrawer requests={requests} isOpen={isOpen} close={close} />}
    </Group>
  );
}
