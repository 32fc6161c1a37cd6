// Invitations to the address of the signed-in person, above each page until the person joins, or hides them for this visit.
import type { WaitingInvitation } from "@gr/console-api";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconUsersPlus } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { call } from "../api/console-client.ts";
import { type KeptPlace, useKept } from "../kept-state.ts";
import { useAct } from "../parts/forms/act.ts";
import { SESSION_KEY } from "../queries.ts";
import { useSession } from "../session.ts";

/** Ids of hidden invitations. */
const HIDDEN: KeptPlace<readonly string[]> = { key: "hidden-invitations", initial: [] };

export function WaitingInvitations() {
  const { invitations } = useSession();
  const [hidden, changeHidden] = useKept(HIDDEN);
  const shown = invitations.filter(({ id }) => !hidden.includes(id));
  if (shown.length === 0) return null;
  return (
    <Stack gap="xs" mb="md">
      {shown.map((invitation) => (
        <Waiting
          key={invitation.id}
          of={invitation}
          hide={() => changeHidden((before) => [...before, invitation.id])}
        />
      ))}
    </Stack>
  );
}

function Waiting({ of: invitation, hide }: { of: WaitingInvitation; hide: () => void }) {
  const { id, account_name, role, invited_by } = invitation;
  const navigate = useNavigate();
  const join = useAct({
    send: () => call("acceptWaitingInvitation", { path: { id } }),
    changes: [SESSION_KEY],
    done: `You are a member of ${account_name} now.`,
    after: ({ account_id }) => navigate({ to: "/accounts/$account", params: { account: account_id } }),
  });
  return (
    <Alert color="brand" icon={<IconUsersPlus size={18} />}>
      <Group justify="space-between" gap="sm">
        <Text size="sm" className="break-anywhere">
          {invited_by} invites you to {account_name} as {role}.
        </Text>
        <Group gap="xs">
          <Button size="xs" loading={join.isPending} onClick={() => join.mutate()}>
            Join {account_name}
          </Button>
          <Button size="xs" variant="default" onClick={hide}>
            Not now
          </Button>
        </Group>
      </Group>
    </Alert>
  );
}
