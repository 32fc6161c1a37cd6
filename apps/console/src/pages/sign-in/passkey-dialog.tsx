// The dialog that adds or renames a passkey.
import { passkeyNameBody } from "@gr/console-api";
import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { createPasskey } from "../../parts/forms/passkey-prompt.ts";
import { PASSKEYS_KEY } from "../../queries.ts";

/** Passkey of the dialog; undefined = a new one. */
export interface Subject {
  readonly passkey: { readonly id: string; readonly name: string } | undefined;
}

export function PasskeyDialog({ passkey, close }: Subject & { close: () => void }) {
  const form = useForm({ initialValues: { name: passkey?.name ?? "" }, validate: byRules(passkeyNameBody) });
  const act = useAct({
    send: async ({ name }: { name: string }) => {
      if (passkey !== undefined) return call("renamePasskey", { path: { id: passkey.id }, body: { name } });
      const { options } = await call("beginPasskey");
      return call("addPasskey", { body: { name, passkey: await createPasskey(options) } });
    },
    changes: [PASSKEYS_KEY],
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
