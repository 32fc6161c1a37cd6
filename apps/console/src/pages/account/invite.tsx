// The dialog that invites a person, or sends an invitation once more.
import { invitationBody, type Role, roles } from "@gr/console-api";
import { Button, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { CopyField } from "../../parts/forms/copy-text.tsx";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { useAccount } from "../../session.ts";

export interface Invited {
  readonly email: string;
  readonly role: Role;
}

/** @param of an invitation that is renewed, or an empty one */
export function Invite({ of: initialValues, close }: { of: Invited; close: () => void }) {
  const { account_id: account, may } = useAccount();
  const [link, setLink] = useState<string>();
  const form = useForm({
    initialValues,
    validate: byRules(invitationBody),
  });
  const invite = useAct({
    send: (body: Invited) => call("invite", { path: { account }, body }),
    changes: [["members", account]],
    after: (invitation) => (invitation.link === null ? close() : setLink(invitation.link)),
    showAt: (error) => showAtField(form, error),
  });
  return (
    <Modal opened onClose={close} title="Invite">
      {link === undefined ? (
        <form onSubmit={form.onSubmit((values) => invite.mutate(values))} noValidate>
          <Stack>
            <TextInput label="E-mail address" type="email" data-autofocus {...form.getInputProps("email")} />
            <Select
              label="Role"
              allowDeselect={false}
              data={roles.filter((role) => role !== "owner" || may("owner"))}
              {...form.getInputProps("role")}
            />
            {initialValues.email !== "" && (
              <Text size="xs" c="dimmed">
                The new link replaces the earlier one and works for seven days.
              </Text>
            )}
            <Button type="submit" loading={invite.isPending}>
              Invite
            </Button>
          </Stack>
        </form>
      ) : (
        <Stack>
          <Text size="sm">No mail server is configured. Send this link yourself:</Text>
          <CopyField value={link} label="the invitation" />
          <Button onClick={close}>Done</Button>
        </Stack>
      )}
    </Modal>
  );
}
