// Signing in: by e-mail address and password, or by the token of a one-time link.
import { signInBody } from "@gr/console-api";
import { Alert, Anchor, Button, PasswordInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { ApiError } from "../api/api-error.ts";
import { call } from "../api/console-client.ts";
import { useAct } from "../parts/act.ts";
import { byRules, showAtField } from "../parts/form-rules.ts";
import { useLinkToken } from "../parts/link-token.ts";
import { Failure } from "../parts/page-states.tsx";
import { SmallForm } from "../parts/small-form.tsx";
import { SESSION_KEY } from "../queries.ts";
import { useSession } from "../session.ts";

export function SignIn() {
  const token = useLinkToken();
  return token === undefined ? <ByPassword /> : <ByLink key={token} token={token} />;
}

/** To where the person wanted to go. Only paths of this application: an address from outside would lead away. */
function useGoOn() {
  const { history } = useRouter();
  const { back } = useSearch({ strict: false });
  return () => history.push(back?.startsWith("/accounts/") ? back : "/");
}

function ByLink({ token }: { token: string }) {
  const queries = useQueryClient();
  const goOn = useGoOn();
  const [error, setError] = useState<unknown>();
  // A token works once: it must not be sent twice, however often the page is drawn.
  const isSent = useRef(false);
  useEffect(() => {
    if (isSent.current) return;
    isSent.current = true;
    call("signInByLink", { body: { token } })
      .then((session) => {
        queries.setQueryData(SESSION_KEY, session);
        return goOn();
      })
      .catch(setError);
  });
  return (
    <SmallForm title="Signing in">
      {error === undefined ? <Text>One moment…</Text> : <Failure error={error} />}
      {error !== undefined && (
        <Anchor href="/sign-in" size="sm">
          Sign in by password
        </Anchor>
      )}
    </SmallForm>
  );
}

function ByPassword() {
  const { sign_up } = useSession();
  const queries = useQueryClient();
  const goOn = useGoOn();
  const [refusal, setRefusal] = useState<ApiError>();
  const form = useForm({
    initialValues: { email: "", password: "" },
    validate: byRules(signInBody),
  });
  const signIn = useAct({
    send: (body: { email: string; password: string }) => call("signIn", { body }),
    after: (session) => {
      queries.setQueryData(SESSION_KEY, session);
      return goOn();
    },
    showAt: (error) => {
      setRefusal(error);
      return showAtField(form, error) || error.status < 500;
    },
  });
  return (
    <SmallForm title="Sign in" onSubmit={form.onSubmit((values) => signIn.mutate(values))}>
      {refusal !== undefined && refusal.param === undefined && (
        <Alert color="red" role="alert">
          {refusal.message} {refusal.code === "email_not_verified" && <SendAgain email={form.values.email} />}
        </Alert>
      )}
      <TextInput
        label="E-mail address"
        type="email"
        autoComplete="username"
        {...form.getInputProps("email")}
      />
      <PasswordInput label="Password" autoComplete="current-password" {...form.getInputProps("password")} />
      <Button type="submit" loading={signIn.isPending}>
        Sign in
      </Button>
      <Anchor size="sm" renderRoot={(props) => <Link to="/forgot-password" {...props} />}>
        Forgot the password?
      </Anchor>
      {sign_up === "open" && (
        <Text size="sm">
          New here? <Anchor renderRoot={(props) => <Link to="/sign-up" {...props} />}>Sign up</Anchor>
        </Text>
      )}
    </SmallForm>
  );
}

function SendAgain({ email }: { email: string }) {
  const again = useAct({
    send: () => call("sendVerification", { body: { email } }),
    done: "If the address is known, a link is on its way.",
  });
  return (
    <Anchor component="button" type="button" size="sm" onClick={() => again.mutate()}>
      Send the link again
    </Anchor>
  );
}
