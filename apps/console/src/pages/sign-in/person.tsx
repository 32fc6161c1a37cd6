// The own password, the own passkeys, the own identities at issuers, and the own sessions.
import { changePasswordBody, PASSWORD_MIN } from "@gr/console-api";
import { Badge, Button, Card, Group, PasswordInput, Stack, Table, Text, Title } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { call } from "../../api/console-client.ts";
import { fromNow } from "../../parts/figures/figure-text.ts";
import { useAct } from "../../parts/forms/act.ts";
import { showAtField } from "../../parts/forms/field-errors.ts";
import { byRules } from "../../parts/forms/form-rules.ts";
import { Failure, RowsWaiting } from "../../parts/lists/page-states.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { SESSION_KEY } from "../../queries.ts";
import { useSession } from "../../session.ts";
import { Passkeys } from "./passkeys.tsx";
import { programName } from "./program-name.ts";

const IDENTITIES = ["identities"];
const SESSIONS = [["sessions"]];

interface PasswordFields {
  readonly current_password: string;
  readonly new_password: string;
}

export function PersonPage() {
  const { person } = useSession();
  return (
    <Stack>
      <Title order={1} size="h2">
        {person?.name}
      </Title>
      <Text c="dimmed">{person?.email}</Text>
      <Password />
      <Passkeys />
      <Identities />
      <Sessions />
    </Stack>
  );
}

/** Changes the password; a person without one, who has signed in by a link, sets the first one. */
function Password() {
  const { has_password } = useSession();
  const form = useForm({
    initialValues: { current_password: "", new_password: "" },
    validate: byRules(changePasswordBody, bodyOf),
  });
  const change = useAct({
    send: (body: PasswordFields) => call("changePassword", { body: bodyOf(body) }),
    changes: [...SESSIONS, SESSION_KEY],
    done: has_password
      ? "The password is changed. Your other sessions have ended."
      : "The password is set. Your other sessions have ended.",
    after: () => form.reset(),
    showAt: (error) => {
      if (error.code === "session_too_old") form.setFieldError("new_password", error.message);
      else if (error.code === "invalid_credentials" && has_password) {
        form.setFieldError("current_password", error.message);
      } else return showAtField(form, error);
      return true;
    },
  });
  function bodyOf({ current_password, new_password }: PasswordFields) {
    return { current_password: has_password ? current_password : null, new_password };
  }
  return (
    <Card withBorder component="section" aria-label="Password" maw={460}>
      <form onSubmit={form.onSubmit((values) => change.mutate(values))} noValidate>
        <Stack>
          <Title order={2} size="h4">
            Password
          </Title>
          {has_password ? (
            <PasswordInput
              label="Current password"
              autoComplete="current-password"
              {...form.getInputProps("current_password")}
            />
          ) : (
            <Text size="sm">You have no password yet. Set one to sign in without a link.</Text>
          )}
          <PasswordInput
            label="New password"
            description={`At least ${PASSWORD_MIN} characters`}
            autoComplete="new-password"
            {...form.getInputProps("new_password")}
          />
          <Button type="submit" loading={change.isPending}>
            {has_password ? "Change" : "Set a password"}
          </Button>
        </Stack>
      </form>
    </Card>
  );
}

/** Renders nothing for a person without identities elsewhere. */
function Identities() {
  const { single_sign_on } = useSession();
  const { data, error, refetch } = useQuery({
    queryKey: IDENTITIES,
    queryFn: ({ signal }) => call("listIdentities", { signal }),
  });
  const remove = useAct({
    send: (id: string) => call("removeIdentity", { path: { id } }),
    changes: [IDENTITIES],
    done: "The identity is removed.",
  });
  if (single_sign_on === null && data?.data.length === 0) return null;
  return (
    <Card withBorder component="section" aria-label="Single sign-on">
      <Title order={2} size="h4" mb="sm">
        Single sign-on
      </Title>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsWaiting rows={1} />}
      {data?.data.length === 0 && (
        <Text size="sm">
          Sign in with {single_sign_on} once, with the address above, and it is linked to you.
        </Text>
      )}
      {data?.data.map((identity) => (
        <Group key={identity.id} justify="space-between">
          <Text size="sm" className="break-anywhere">
            {identity.issuer}, used {fromNow(identity.last_used_at)}
          </Text>
          <Button variant="default" size="compact-sm" onClick={() => remove.mutate(identity.id)}>
            Remove
          </Button>
        </Group>
      ))}
    </Card>
  );
}

function Sessions() {
  const { data, error, refetch } = useQuery({
    queryKey: ["sessions"],
    queryFn: ({ signal }) => call("listSessions", { signal }),
  });
  const end = useAct({
    send: (id: string) => call("endSession", { path: { id } }),
    changes: SESSIONS,
    done: "The session has ended.",
  });
  const endOthers = useAct({
    send: () => call("endOtherSessions"),
    changes: SESSIONS,
    done: "All other sessions have ended.",
  });
  return (
    <Card withBorder component="section" aria-label="Sessions">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4">
          Sessions
        </Title>
        <Button variant="default" size="xs" onClick={() => endOthers.mutate()}>
          End all others
        </Button>
      </Group>
      {error !== null && <Failure error={error} retry={() => void refetch()} />}
      {data === undefined && error === null && <RowsWaiting rows={2} />}
      {data !== undefined && (
        <RowsTable heads={["Program", "Address", "Last used"]} hasActions minWidth={520}>
          {data.data.map((session) => (
            <Table.Tr key={session.id}>
              <Table.Td className="break-anywhere" title={session.user_agent ?? undefined}>
                {programName(session.user_agent)}
              </Table.Td>
              <Table.Td>{session.address}</Table.Td>
              <Table.Td>{fromNow(session.last_used_at)}</Table.Td>
              <Table.Td>
                {session.is_current ? (
                  <Badge variant="light">this one</Badge>
                ) : (
                  <Button variant="default" size="compact-sm" onClick={() => end.mutate(session.id)}>
                    End
                  </Button>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </RowsTable>
      )}
    </Card>
  );
}
