// The own passkeys: add, name, remove.
import { passkeyNameBody } from "@gr/console-api";
import { Button, Card, Group, Modal, Stack, Text, TextInput, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { fromNow } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { createPasskey } from "../../parts/forms/passkey-prompt.ts";
import { Failure, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { useSession } from "../../session.ts";

const PASSKEYS = ["passkeys"];

interface Named {
  readonly id: string;
  readonly name: string;
}

/** Passkey of the dialog; undefined = a new one. */
type Subject = { readonly passkey: Named | undefined };

export function Passkeys() {
  const { takes_passkeys } = useSession();
  const [subject, setSubject] = useState<Subject>();
  const { data, error, refetch } = useQuery({
    queryKey: PASSKEYS,
    queryFn: ({ signal }) => call("listPasskeys", { signal }),
    enabled: takes_passkeys,
  });
  const remove = useAct({
    send: (id: string) => call("removePasskey", { path: { id } }),
    changes: [PASSKEYS],
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
      {subject !== undefined && <NameDialog {...subject} close={() => setSubject(undefined)} />}
    </Card>
  );
}

function NameDialog({ passkey, close }: Subject & { close: () => void }) {
  const form = useForm({ initialValues: { name: passkey?.name ?? "" }, validate: byRules(passkeyNameBody) });
  const act = useAct({
    send: async ({ name }: { name: string }) => {
      if (passkey !== undefined) return call("renamePasskey", { path: { id: passkey.id }, body: { name } });
      const { options } = await call("beginPasskey");
      return call("addPasskey", { body: { name, passkey: await createPasskey(options) } });
    },
    changes: [PASSKEYS],
    done: passkey === undefined ? "The passkey is added." : "Renamed.",
    after: close,
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title={passkey === undefined ? "Add a passkey" : "Rename the passkey"}>
      <form onSubmit={form.onSubmit((values) => act.mutate(values))} noValidate>
        <Stack>
          <TextInput
            label="Name"
            description="For example the name of your device"
            data-autofocus
            {...form.getInputProps("name")}
          />
          <Group justify="flex-end">
            <Button type="submit" loading={act.isPending}>
              {passkey === undefined ? "Continue" : "Save"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
