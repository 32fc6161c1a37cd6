// Asking for a person: the answer is the same for a known address, and a link follows by mail.
import { PASSWORD_MIN, signUpBody } from "@gr/console-api";
import { Anchor, Button, PasswordInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../api/console-client.ts";
import { useAct } from "../parts/act.ts";
import { showAtField } from "../parts/field-errors.ts";
import { byRules } from "../parts/form-rules.ts";
import { SmallForm } from "../parts/small-form.tsx";
import { useSession } from "../session.ts";

export function SignUp() {
  const { sign_up, sends_mail } = useSession();
  const [address, setAddress] = useState<string>();
  const form = useForm({
    initialValues: { name: "", email: "", password: "" },
    validate: byRules(signUpBody),
    validateInputOnBlur: true,
  });
  const signUp = useAct({
    send: (body: { name: string; email: string; password: string }) => call("signUp", { body }),
    after: (_, { email }) => setAddress(email),
    showAt: (error) => showAtField(form, error),
  });
  if (address !== undefined) {
    return (
      <SmallForm title="Almost there">
        <Text>
          {sends_mail
            ? `A link was sent to ${address}. It opens your account.`
            : "No mail server is set: the operator of this router has the link that opens your account."}
        </Text>
      </SmallForm>
    );
  }
  if (sign_up === "closed") {
    return (
      <SmallForm title="Sign up">
        <Text>Here people are invited. Ask an admin of your account, or the operator.</Text>
      </SmallForm>
    );
  }
  return (
    <SmallForm title="Sign up" onSubmit={form.onSubmit((values) => signUp.mutate(values))}>
      <TextInput label="Name" autoComplete="name" {...form.getInputProps("name")} />
      <TextInput
        label="E-mail address"
        type="email"
        autoComplete="username"
        {...form.getInputProps("email")}
      />
      <PasswordInput
        label="Password"
        description={`At least ${PASSWORD_MIN} characters`}
        autoComplete="new-password"
        {...form.getInputProps("password")}
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
