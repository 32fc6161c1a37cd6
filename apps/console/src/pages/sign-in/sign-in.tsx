// Signing in: by e-mail address and password, by a passkey, at the issuer of an organization, or by the token of a one-time
// link.
import type { SessionState } from "@gr/console-api";
import { Alert, Anchor, Button, Divider, PasswordInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useRouter, useSearch } from "@tanstack/react-router";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { ApiError } from "../../api/api-error.ts";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { issuerAnswer, rememberBack, rememberedBack } from "../../parts/forms/issuer-answer.ts";
import { useLinkToken } from "../../parts/forms/link-token.ts";
import { usePasskey } from "../../parts/forms/passkey-prompt.ts";
import { SmallForm } from "../../parts/forms/small-form.tsx";
import { Failure } from "../../parts/lists/page-states.tsx";
import { SESSION_KEY } from "../../queries.ts";
import { useSession } from "../../session.ts";

/** Signs in. An issuer's answer is posted once, even if the page renders again or is restored. */
export function SignIn() {
  const token = useLinkToken();
  const [answer] = useState(issuerAnswer);
  if (token !== undefined) return <ByLink key={token} token={token} />;
  return answer === undefined ? <ByHand /> : <ByIssuer answer={answer} />;
}

const BACK = /^\/(accounts\/|operator(\/|$)|invitation$)/;

/**
 * Returns a function that opens the wanted page. Only paths of this application: another address would lead to a
 * foreign page.
 */
function useContinue() {
  const { history } = useRouter();
  const { back } = useSearch({ strict: false });
  return (to = back) => history.push(to !== undefined && BACK.test(to) ? to : "/");
}

/** Sends a one-time request once, even if the page renders again. @returns the error of a refusal */
function useSentOnce(send: () => Promise<SessionState>, back?: string): unknown {
  const queries = useQueryClient();
  const continueTo = useContinue();
  const [error, setError] = useState<unknown>();
  const isSent = useRef(false);
  useEffect(() => {
    if (isSent.current) return;
    isSent.current = true;
    send()
      .then((session) => {
        queries.setQueryData(SESSION_KEY, session);
        return continueTo(back);
      })
      .catch(setError);
  });
  return error;
}

function ByIssuer({ answer }: { answer: string }) {
  const error = useSentOnce(() => call("finishOidc", { body: { answer } }), rememberedBack());
  if (error !== undefined) return <ByHand failure={<Failure error={error} />} />;
  return (
    <SmallForm title="Signing in">
      <Text>One moment…</Text>
    </SmallForm>
  );
}

/** Leads the browser to the issuer. */
function AtIssuer({ name }: { name: string }) {
  const { back } = useSearch({ strict: false });
  const begin = useAct({
    send: () => call("beginOidc"),
    after: ({ url }) => {
      rememberBack(back);
      window.location.assign(url);
    },
  });
  return (
    <Button variant="default" loading={begin.isPending} onClick={() => begin.mutate()}>
      Sign in with {name}
    </Button>
  );
}

function ByPasskey() {
  const queries = useQueryClient();
  const continueTo = useContinue();
  const signIn = useAct({
    send: async () => {
      const { options } = await call("beginPasskeySignIn");
      return call("finishPasskeySignIn", { body: { passkey: await usePasskey(options) } });
    },
    after: (session) => {
      queries.setQueryData(SESSION_KEY, session);
      return continueTo();
    },
  });
  return (
    <Button variant="default" loading={signIn.isPending} onClick={() => signIn.mutate()}>
      Sign in with a passkey
    </Button>
  );
}

function ByLink({ token }: { token: string }) {
  const error = useSentOnce(() => call("signInByLink", { body: { token } }));
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

function ByHand({ failure }: { failure?: ReactNode }) {
  const { sign_up, single_sign_on, takes_passkeys } = useSession();
  const queries = useQueryClient();
  const continueTo = useContinue();
  const { ended } = useSearch({ strict: false });
  const [refusal, setRefusal] = useState<ApiError>();
  const form = useForm({
    initialValues: { email: "", password: "" },
  });
  const signIn = useAct({
    send: (body: { email: string; password: string }) => call("signIn", { body }),
    after: (session) => {
      queries.setQueryData(SESSION_KEY, session);
      return continueTo();
    },
    showAt: (error) => {
      setRefusal(error);
      return showAtField(form, error) || error.status < 500;
    },
  });
  return (
    <SmallForm title="Sign in" onSubmit={form.onSubmit((values) => signIn.mutate(values))}>
      {failure}
      {ended !== undefined && <Text>Your session has ended. Sign in again to continue.</Text>}
      {single_sign_on !== null && <AtIssuer name={single_sign_on} />}
      {takes_passkeys && <ByPasskey />}
      {(single_sign_on !== null || takes_passkeys) && <Divider label="or" />}
      {refusal !== undefined && refusal.param === undefined && (
        <Alert color="red" role="alert">
          {refusal.message}{" "}
          {refusal.code === "email_not_verified" && (
            <Anchor size="sm" renderRoot={(props) => <Link to="/sign-up" {...props} />}>
              Sign up
            </Anchor>
          )}
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
        Forgot password?
      </Anchor>
      {sign_up === "closed" && (
        <Text size="sm" c="dimmed">
          No password yet? Use the link that you were sent, or ask the operator of this router for one.
        </Text>
      )}
      {sign_up === "open" && (
        <Text size="sm">
          New here? <Anchor renderRoot={(props) => <Link to="/sign-up" {...props} />}>Sign up</Anchor>
        </Text>
      )}
    </SmallForm>
  );
}
