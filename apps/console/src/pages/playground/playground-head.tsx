// The head of the playground: its title, its tabs, and the code of the request in the form.
import { Button, Drawer, Group, SegmentedControl, Select, Stack, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCode, IconColumns2, IconMessage, IconMovie, IconPencil, IconPhoto } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import type { ApiRequest } from "../../api/public-api.ts";
import { Samples } from "../../parts/forms/samples.tsx";
import { useFilter } from "../../parts/lists/use-filter.ts";
import type { TabName } from "./drafts.ts";

const TABS = [
  { value: "image", name: "Image", icon: IconPhoto },
  { value: "edit", name: "Edit", icon: IconPencil },
  { value: "video", name: "Video", icon: IconMovie },
  { value: "text", name: "Text", icon: IconMessage },
  { value: "compare", name: "Compare", icon: IconColumns2 },
] as const satisfies readonly { value: TabName; name: string; icon: unknown }[];

export interface PlaygroundHeadProps {
  readonly tab: TabName;
  /** Requests as the form would send them, by the name of their model. */
  readonly requests: readonly { readonly name: string; readonly request: ApiRequest }[];
  /** Further buttons. */
  readonly children?: ReactNode;
}

export function PlaygroundHead({ tab, requests, children }: PlaygroundHeadProps) {
  const filter = useFilter();
  const [isOpen, { open, close }] = useDisclosure(false);
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
      <Drawer opened={isOpen} onClose={close} position="right" size={600} title="This request as code">
        <RequestCode requests={requests} />
      </Drawer>
    </Group>
  );
}

function RequestCode({ requests }: Pick<PlaygroundHeadProps, "requests">) {
  const [index, setIndex] = useState(0);
  const chosen = requests[index] ?? requests[0];
  if (chosen === undefined) return <Text c="dimmed">Choose a model first.</Text>;
  return (
    <Stack>
      <Text size="sm" c="dimmed">
        The same request as the form sends: its path, fields, files and headers. Put an API key into the
        variable API_KEY.
      </Text>
      {requests.length > 1 && (
        <Select
          label="Model"
          allowDeselect={false}
          data={requests.map(({ name }, place) => ({ value: String(place), label: name }))}
          value={String(requests.indexOf(chosen))}
          onChange={(value) => setIndex(Number(value))}
        />
      )}
      <Samples request={chosen.request} />
    </Stack>
  );
}
