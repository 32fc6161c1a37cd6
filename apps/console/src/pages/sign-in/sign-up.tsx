// Sign-up: asks for an address. The password waits for the link that is mailed there, so nobody signs up as somebody else.
import { emailBody } from "@gr/console-api";
import { Anchor, Button, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { SmallForm } from "../../parts/forms/small-form.tsx";
import { useSession } from "../../session.ts";

export function SignUp() {
  const { sign_up, sends_mail } = useSession();
  const [address, setAddress] = useState<string>();
  const form = useForm({
    initialValues: { email: "" },
    validate: byRules(emailBody),
    validateInputOnBlur: true,
  });
  const signUp = useAct({
    send: (body: { email: string }) => call("signUp", { body }),
    after: (_, { email }) => setAddress(email),
    showAt: (error) => showAtField(form, error),
  });
  if (address !== undefined)
    return <LinkIsSent address={address} isMailed={sends_mail} isOpen={sign_up === "open"} />;
  return (
    <SmallForm title="Sign up" onSubmit={form.onSubmit((values) => signUp.mutate(values))}>
      {sign_up === "closed" && (
        <Text size="sm">
          You need an invitation to sign up here. Ask an admin of your account, or the operator.
        </Text>
      )}
      <TextInput
        label="E-mail address"
        type="email"
        autoComplete="username"
        {...form.getInputProps("email")}
      />
      <Button type="submit" loading={signUp.isPending}>
        Sign up
      </Button>
      <Anchor size="sm" renderRoot={(props) => <Link to="/sign-in" {...props} />}>
        Sign in instead
      </Anchor>
    </SmallForm>
  );
}

function LinkIsSent({ address, isMailed, isOpen }: { address: string; isMailed: boolean; isOpen: boolean }) {
  const condition = isOpen ? "" : "If this address was invited: ";
  const link = isMailed
    ? `A link was sent to ${address}. Open it to set your password.`
    : "No mail server is configured. The operator of this router has the link to set your password.";
  return (
    <SmallForm title="Almost there">
      <Text>
        {condition}
        {link}
      </Text>
    </SmallForm>
  );
}
