// Pages that mail a link for a new password, and set the password by its token.
import { emailBody, newPasswordBody, PASSWORD_MIN } from "@gr/console-api";
import { Anchor, Button, PasswordInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { useLinkToken } from "../../parts/forms/link-token.ts";
import { SmallForm } from "../../parts/forms/small-form.tsx";
import { useSession } from "../../session.ts";

export function ForgotPassword() {
  const { sends_mail } = useSession();
  const [isAsked, setAsked] = useState(false);
  const form = useForm({ initialValues: { email: "" }, validate: byRules(emailBody) });
  const ask = useAct({
    send: (body: { email: string }) => call("askPasswordReset", { body }),
    after: () => setAsked(true),
    showAt: (error) => showAtField(form, error),
  });
  if (isAsked) {
    return (
      <SmallForm title="Forgot password">
        <Text>
          {sends_mail
            ? "If an account exists for this address, we have sent a link to set a new password."
            : "No mail server is configured. If an account exists for this address, the operator of this router has the link."}
        </Text>
      </SmallForm>
    );
  }
  return (
    <SmallForm title="Forgot password" onSubmit={form.onSubmit((values) => ask.mutate(values))}>
      <TextInput
        label="E-mail address"
        type="email"
        autoComplete="username"
        {...form.getInputProps("email")}
      />
      <Button type="submit" loading={ask.isPending}>
        Send a link
      </Button>
    </SmallForm>
  );
}

export function ResetPassword() {
  const token = useLinkToken() ?? "";
  const [isSet, setSet] = useState(false);
  const form = useForm({
    initialValues: { password: "" },
    validate: byRules(newPasswordBody, ({ password }) => ({ token: token || "none", password })),
  });
  const reset = useAct({
    send: ({ password }: { password: string }) => call("resetPassword", { body: { token, password } }),
    after: () => setSet(true),
    showAt: (error) => showAtField(form, error),
  });
  if (token === "" || isSet) {
    return (
      <SmallForm title="New password">
        <Text>{isSet ? "The new password is set." : "Open this page with the link from your e-mail."}</Text>
        <Anchor renderRoot={(props) => <Link to="/sign-in" {...props} />}>Sign in</Anchor>
      </SmallForm>
    );
  }
  return (
    <SmallForm title="New password" onSubmit={form.onSubmit((values) => reset.mutate(values))}>
      <PasswordInput
        label="New password"
        description={`At least ${PASSWORD_MIN} characters. All your sessions end.`}
        autoComplete="new-password"
        {...form.getInputProps("password")}
      />
      <Button type="submit" loading={reset.isPending}>
        Set the password
      </Button>
    </SmallForm>
  );
}
