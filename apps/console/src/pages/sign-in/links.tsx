// Pages behind mailed links: verify an address and set its password, join an account.
import { firstPasswordBody, type OpenInvitation, PASSWORD_MIN, type SessionState } from "@gr/console-api";
import { Anchor, Button, PasswordInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { ApiError } from "../../api/api-error.ts";
import { call } from "../../api/console-client.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import {
  forgetInvitation,
  rememberedInvitation,
  rememberInvitation,
  useLinkToken,
} from "../../parts/forms/link-token.ts";
import { SmallForm } from "../../parts/forms/small-form.tsx";
import { Failure } from "../../parts/lists/page-states.tsx";
import { SESSION_KEY } from "../../queries.ts";
import { useSession } from "../../session.ts";

interface NamedPassword {
  readonly name: string;
  readonly password: string;
}

/** Form in which a new person sets name and password. A button sends the token: programs that open links press none. */
function FirstPassword(props: {
  title: string;
  action: string;
  token: string;
  send: (body: NamedPassword & { token: string }) => Promise<SessionState>;
  children: ReactNode;
}) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { token } = props;
  const form = useForm({
    initialValues: { name: "", password: "" },
    validate: byRules(firstPasswordBody, (values: NamedPassword) => ({ token, ...values })),
  });
  const set = useAct({
    send: (values: NamedPassword) => props.send({ token, ...values }),
    after: (session) => {
      queries.setQueryData(SESSION_KEY, session);
      forgetInvitation();
      return navigate({ to: "/" });
    },
    showAt: (error) => showAtField(form, error) || error.code === "invalid_link",
  });
  return (
    <SmallForm title={props.title} onSubmit={form.onSubmit((values) => set.mutate(values))}>
      {set.error instanceof ApiError && set.error.code === "invalid_link" && <Failure error={set.error} />}
      {props.children}
      <TextInput label="Name" autoComplete="name" {...form.getInputProps("name")} />
      <PasswordInput
        label="Password"
        description={`At least ${PASSWORD_MIN} characters`}
        autoComplete="new-password"
        {...form.getInputProps("password")}
      />
      <Button type="submit" loading={set.isPending}>
        {props.action}
      </Button>
    </SmallForm>
  );
}

function NoToken({ title }: { title: string }) {
  return (
    <SmallForm title={title}>
      <Text>Open this page with the link from your e-mail.</Text>
    </SmallForm>
  );
}

export function VerifyEmail() {
  const token = useLinkToken();
  const title = "Your e-mail address";
  if (token === undefined) return <NoToken title={title} />;
  return (
    <FirstPassword
      title={title}
      action="Set the password"
      token={token}
      send={(body) => call("verifyEmail", { body })}
    >
      <Text>This address is yours. Set your name and a password.</Text>
    </FirstPassword>
  );
}

export function AcceptInvitation() {
  const linked = useLinkToken();
  const token = linked ?? rememberedInvitation();
  // Signing in leads away from this page and back.
  useEffect(() => {
    if (linked !== undefined) rememberInvitation(linked);
  }, [linked]);
  if (token === undefined) return <NoToken title="Invitation" />;
  return <Invitation token={token} />;
}

function Invitation({ token }: { token: string }) {
  const { person } = useSession();
  const found = useQuery({
    queryKey: ["invitation", token],
    // Once it is accepted, nobody can read it again.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => call("readInvitation", { body: { token }, signal }),
  });
  if (found.data === undefined) {
    return (
      <SmallForm title="Invitation">
        {found.error === null ? <Text>One moment…</Text> : <Failure error={found.error} />}
      </SmallForm>
    );
  }
  const invitation = found.data;
  if (person?.email === invitation.email) return <Join token={token} invitation={invitation} />;
  if (invitation.is_for_new_person) {
    return (
      <FirstPassword
        title="Invitation"
        action={`Join ${invitation.account_name}`}
        token={token}
        send={(body) => call("joinByInvitation", { body })}
      >
        <Invited invitation={invitation} />
        <Text>Set your name and a password to join.</Text>
      </FirstPassword>
    );
  }
  return (
    <SmallForm title="Invitation">
      <Invited invitation={invitation} />
      <Text>
        Sign in as {invitation.email} to join. If you are new, sign up first; then open this link again.
      </Text>
      <Anchor renderRoot={(props) => <Link to="/sign-in" search={{ back: "/invitation" }} {...props} />}>
        Sign in
      </Anchor>
      <Anchor renderRoot={(props) => <Link to="/sign-up" {...props} />}>Sign up</Anchor>
    </SmallForm>
  );
}

function Invited({ invitation }: { invitation: OpenInvitation }) {
  const { invited_by, email, account_name, role } = invitation;
  return (
    <Text>
      {invited_by} invites {email} to {account_name} as {role}.
    </Text>
  );
}

function Join({ token, invitation }: { token: string; invitation: OpenInvitation }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const join = useAct({
    send: () => call("acceptInvitation", { body: { token } }),
    after: async ({ account_id }) => {
      forgetInvitation();
      await queries.invalidateQueries({ queryKey: SESSION_KEY });
      await navigate({ to: "/accounts/$account", params: { account: account_id } });
    },
  });
  return (
    <SmallForm title="Invitation">
      <Invited invitation={invitation} />
      <Button loading={join.isPending} onClick={() => join.mutate()}>
        Join {invitation.account_name}
      </Button>
    </SmallForm>
  );
}
