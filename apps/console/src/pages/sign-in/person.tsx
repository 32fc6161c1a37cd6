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
import { useSession } from "../../session.ts";
import { Passkeys } from "./passkeys.tsx";

const IDENTITIES = ["identities"];
const SESSIONS = [["sessions"]];

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

function Password() {
  const form = useForm({
    initialValues: { current_password: "", new_password: "" },
    validate: byRules(changePasswordBody),
  });
  const change = useAct({
    send: (body: { current_password: string; new_password: string }) => call("changePassword", { body }),
    changes: SESSIONS,
    done: "The password is changed. Your other sessions have ended.",
    after: () => form.reset(),
    showAt: (error) => {
      if (error.code !== "invalid_credentials") return showAtField(form, error);
      form.setFieldError("current_password", error.message);
      return true;
    },
  });
  return (
    <Card withBorder component="section" aria-label="Password" maw={460}>
      <form onSubmit={form.onSubmit((values) => change.mutate(values))} noValidate>
        <Stack>
          <Title order={2} size="h4">
            Password
          </Title>
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            {...form.getInputProps("current_password")}
          />
          <PasswordInput
            label="New password"
            description={`At least ${PASSWORD_MIN} characters`}
            autoComplete="new-password"
            {...form.getInputProps("new_password")}
          />
          <Button type="submit" loading={change.isPending}>
            Change
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
      <Table.ScrollContainer minWidth={520}>
        <Table>
          <Table.Tbody>
            {data?.data.map((session) => (
              <Table.Tr key={session.id}>
                <Table.Td className="break-anywhere">{session.user_agent ?? "unknown program"}</Table.Td>
                <Table.Td>{session.address}</Table.Td>
                <Table.Td>used {fromNow(session.last_used_at)}</Table.Td>
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
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Card>
  );
}
