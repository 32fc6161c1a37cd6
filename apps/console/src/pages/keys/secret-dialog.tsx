// The dialog of a new secret, which nobody can show again. It closes only after the secret was copied or saved, or after the person
// has confirmed that it is stored.
import type { KeyRecord } from "@gr/console-api";
import { Alert, Badge, Button, Checkbox, Group, Loader, Modal, Stack, Text } from "@mantine/core";
import { IconCheck, IconDownload } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import type { ModelRecord } from "../../api/public-api.ts";
import { FirstRequest } from "../../parts/first-request.tsx";
import { CopyField } from "../../parts/forms/copy-text.tsx";
import { offerFile } from "../../parts/media/save-media.ts";
import { useAccount } from "../../session.ts";

/** Interval until the first request is seen. */
const AGAIN_MS = 2_000;
const FILE_NAME = "generation-router.env";

export interface SecretDialogProps {
  readonly apiKey: KeyRecord;
  readonly secret: string;
  readonly close: () => void;
}

export function SecretDialog({ apiKey, secret, close }: SecretDialogProps) {
  const [isStored, setStored] = useState(false);
  const save = () => {
    offerFile(new File([`API_KEY=${secret}\n`], FILE_NAME, { type: "text/plain" }));
    setStored(true);
  };
  return (
    <Modal
      opened
      onClose={close}
      title="Save your key"
      withCloseButton={false}
      closeOnClickOutside={false}
      closeOnEscape={false}
    >
      <Stack>
        <Alert color="yellow">
          Copy this key now. You will not be able to see it again. If you lose it, rotate the key.
        </Alert>
        <CopyField value={secret} label="the key" autoFocus onCopied={setStored} />
        {apiKey.kind === "normal" && <WithKey apiKey={apiKey} secret={secret} />}
        <Checkbox
          label="I have stored the key"
          checked={isStored}
          onChange={({ currentTarget }) => setStored(currentTarget.checked)}
        />
        <Group justify="flex-end" className="dialog-foot">
          <Button variant="default" leftSection={<IconDownload size={16} />} onClick={save}>
            Save as .env
          </Button>
          <Button onClick={close} disabled={!isStored}>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

/** The first request with the key in it, and its arrival. */
function WithKey({ apiKey, secret }: Omit<SecretDialogProps, "close">) {
  return (
    <Stack gap="xs">
      <Text fw={500} size="sm">
        First request, with this key in it
      </Text>
      <FirstRequest secret={secret} isAllowed={(model) => allows(apiKey, model)} />
      {apiKey.total_requests === 0 && <Arrival keyId={apiKey.id} />}
    </Stack>
  );
}

function allows({ allowed_models: models, allowed_providers: providers }: KeyRecord, model: ModelRecord) {
  const fits = (name: string) =>
    name.endsWith("*") ? model.id.startsWith(name.slice(0, -1)) : model.id === name;
  return (
    (models === null || models.some(fits)) &&
    (providers === null || providers.some((name) => model.providers.includes(name)))
  );
}

function Arrival({ keyId }: { keyId: string }) {
  const { account_id: account } = useAccount();
  const { data } = useQuery({
    queryKey: ["requests", account, "first of a key", keyId],
    queryFn: ({ signal }) =>
      call("listRequests", { path: { account }, query: { key_id: keyId, limit: "1" }, signal }),
    refetchInterval: ({ state }) => (state.data?.data.length === 1 ? false : AGAIN_MS),
  });
  return (
    <div role="status">
      {data?.data.length === 1 ? (
        <Badge color="green" leftSection={<IconCheck size={12} />}>
          First request received
        </Badge>
      ) : (
        <Badge color="blue" leftSection={<Loader size={10} />}>
          Waiting for the first request
        </Badge>
      )}
    </div>
  );
}
