// The code drawer shows the requests of a form as code.
import { Drawer, Select, Stack, Text } from "@mantine/core";
import { useState } from "react";
import type { ApiRequest } from "../../api/public-api.ts";
import { Samples } from "../../parts/forms/samples.tsx";

/** Requests as the form would send them, by the name of their model. */
export type NamedRequests = readonly { readonly name: string; readonly request: ApiRequest }[];

export function CodeDrawer({
  requests,
  isOpen,
  close,
}: {
  readonly requests: NamedRequests;
  readonly isOpen: boolean;
  readonly close: () => void;
}) {
  return (
    <Drawer opened={isOpen} onClose={close} position="right" size={600} title="This request as code">
      <RequestCode requests={requests} />
    </Drawer>
  );
}

function RequestCode({ requests }: { requests: NamedRequests }) {
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
