// The code drawer shows the requests of a form as code.
import { Drawer, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import { Samples } from "../../parts/forms/samples.tsx";
import type { PlaygroundHeadProps } from "./playground-head.tsx";

type Requests = Pick<PlaygroundHeadProps, "requests">;

export function CodeDrawer({
  requests,
  isOpen,
  close,
}: Requests & { readonly isOpen: boolean; readonly close: () => void }) {
  return (
    <Drawer opened={isOpen} onClose={close} position="right" size={600} title="This request as code">
      <RequestCode requests={requests} />
    </Drawer>
  );
}

function RequestCode({ requests }: Requests) {
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
