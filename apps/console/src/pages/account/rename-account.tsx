// Dialog that renames the account.
import { newAccountBody } from "@gr/console-api";
import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { SESSION_KEY } from "../../queries.ts";
import { useAccount } from "../../session.ts";

export function RenameAccount({ close }: { close: () => void }) {
  const { account_id: account, account_name } = useAccount();
  const form = useForm({ initialValues: { name: account_name }, validate: byRules(newAccountBody) });
  const act = useAct({
    send: (body: { name: string }) => call("renameAccount", { path: { account }, body }),
    changes: [SESSION_KEY, ["audit", account]],
    done: "Renamed.",
    after: close,
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title="Rename account">
      <form onSubmit={form.onSubmit((values) => act.mutate(values))} noValidate>
        <Stack>
          <TextInput label="Account name" data-autofocus {...form.getInputProps("name")} />
          <Group justify="flex-end">
            <Button type="submit" loading={act.isPending}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
