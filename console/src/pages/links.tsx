// Pages that a mailed link opens, and that do what it is for: verify an address, join an account.
import { Anchor, Button, Text } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../api/console-client.ts";
import { useLinkToken } from "../parts/link-token.ts";
import { Failure } from "../parts/page-states.tsx";
import { SmallForm } from "../parts/small-form.tsx";
import { SESSION_KEY } from "../queries.ts";
import { useSession } from "../session.ts";

/** A button sends the token: programs that look into mails open links, and press nothing. */
function LinkPage(props: { title: string; action: string; send: (token: string) => Promise<unknown> }) {
  const token = useLinkToken();
  const [error, setError] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const send = async (value: string) => {
    setSending(true);
    await props.send(value).catch(setError);
    setSending(false);
  };
  return (
    <SmallForm title={props.title}>
      {error !== undefined && <Failure error={error} />}
      {token === undefined ? (
        <Text>This page is opened by a link from a mail.</Text>
      ) : (
        <Button loading={isSending} onClick={() => void send(token)}>
          {props.action}
        </Button>
      )}
    </SmallForm>
  );
}

export function VerifyEmail() {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (
    <LinkPage
      title="Your e-mail address"
      action="It is mine: go on"
      send={async (token) => {
        queries.setQueryData(SESSION_KEY, await call("verifyEmail", { body: { token } }));
        await navigate({ to: "/" });
      }}
    />
  );
}

export function AcceptInvitation() {
  const { person } = useSession();
  const queries = useQueryClient();
  const navigate = useNavigate();
  if (person === null) {
    return (
      <SmallForm title="Invitation">
        <Text>Sign in, or sign up, with the address that was invited. Then open the link again.</Text>
        <Anchor renderRoot={(props) => <Link to="/sign-in" {...props} />}>Sign in</Anchor>
        <Anchor renderRoot={(props) => <Link to="/sign-up" {...props} />}>Sign up</Anchor>
      </SmallForm>
    );
  }
  return (
    <LinkPage
      title="Invitation"
      action={`Join as ${person.email}`}
      send={async (token) => {
        await call("acceptInvitation", { body: { token } });
        await queries.invalidateQueries({ queryKey: SESSION_KEY });
        await navigate({ to: "/" });
      }}
    />
  );
}
