// The new account page creates the first account of a person without one.
import { newAccountBody } from "@gr/console-api";
import { Button, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useNavigate } from "@tanstack/react-router";
import { call } from "../../api/console-client.ts";
import { WaitingInvitations } from "../../layout/waiting-invitations.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { SmallForm } from "../../parts/forms/small-form.tsx";
import { SESSION_KEY } from "../../queries.ts";
import { useSession } from "../../session.ts";

export function NewAccount() {
  const { sign_up, invitations } = useSession();
  const navigate = useNavigate();
  const form = useForm({ initialValues: { name: "" }, validate: byRules(newAccountBody) });
  const open = useAct({
    send: (body: { name: string }) => call("createAccount", { body }),
    changes: [SESSION_KEY],
    after: () => navigate({ to: "/" }),
    showAt: (error) => showAtField(form, error),
  });
  if (sign_up === "closed") {
    return (
      <>
        <WaitingInvitations />
        <SmallForm title="No account yet">
          <Text>
            You are not a member of any account yet.
            {invitations.length === 0 && " Ask an admin to invite you."}
          </Text>
        </SmallForm>
      </>
    );
  }
  return (
    <>
      <WaitingInvitations />
      <SmallForm title="Create an account" onSubmit={form.onSubmit((values) => open.mutate(values))}>
        <Text size="sm" c="dimmed">
          An account has credits, keys and members. You can invite others later.
        </Text>
        <TextInput label="Account name" placeholder="My team" {...form.getInputProps("name")} />
        <Button type="submit" loading={open.isPending}>
          Create account
        </Button>
      </SmallForm>
    </>
  );
}
