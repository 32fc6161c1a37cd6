// The own passkeys: add, name, remove.
import { Button, Card, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { fromNow } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { later } from "../../parts/later.tsx";
import { Failure, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { PASSKEYS_KEY } from "../../queries.ts";
import { useSession } from "../../session.ts";
import type { Subject } from "./passkey-dialog.tsx";

const PasskeyDialog = later(async () => (await import("./passkey-dialog.tsx")).PasskeyDialog);

export function Passkeys() {
  const { takes_passkeys } = useSession();
  const [subject, setSubject] = useState<Subject>();
  const { data, error, refetch } = useQuery({
    queryKey: PASSKEYS_KEY,
    queryFn: ({ signal }) => call("listPasskeys", { signal }),
    enabled: takes_passkeys,
  });
  const remove = useAct({
    send: (id: string) => call("removePasskey", { path: { id } }),
    changes: [PASSKEYS_KEY],
    done: "The passkey is removed.",
  });
  if (!takes_passkeys) return null;
  return (
    <Card withBorder component="section" aria-label="Passkeys">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          Passkeys
        </Title>
        <Button variant="default" size="xs" onClick={() => setSubject({ passkey: undefined })}>
          Add a passkey
        </Button>
      </Group>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsWaiting rows={1} />}
      {data?.data.length === 0 && (
        <Text size="sm">
          You have no passkey. A passkey signs you in without a password, with the unlock of your device.
        </Text>
      )}
      <Stack gap="xs">
        {data?.data.map((passkey) => (
          <Group key={passkey.id} justify="space-between">
            <Text size="sm" className="break-anywhere">
              {passkey.name},{" "}
              {passkey.last_used_at === null ? "not used yet" : `used ${fromNow(passkey.last_used_at)}`}
            </Text>
            <Group gap="xs">
              <Button
                variant="default"
                size="compact-sm"
                aria-label={`Rename ${passkey.name}`}
                onClick={() => setSubject({ passkey })}
              >
                Rename
              </Button>
              <Button
                variant="default"
                size="compact-sm"
                aria-label={`Remove ${passkey.name}`}
                onClick={() => remove.mutate(passkey.id)}
              >
                Remove
              </Button>
            </Group>
          </Group>
        ))}
      </Stack>
      {subject !== undefined && <PasskeyDialog {...subject} close={() => setSubject(undefined)} />}
    </Card>
  );
}
