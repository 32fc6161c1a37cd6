// Invitations to the address of the signed-in person, above each page until the person joins, declines them, or hides them for this
// visit.
import type { WaitingInvitation } from "@gr/console-api";
import { Alert, Button, Group, Stack, Text } from "@mantine/core";
import { IconUsersPlus } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { call } from "../api/console-client.ts";
import { type KeptPlace, useKept } from "../kept-state.ts";
import { useAct } from "../parts/forms/act.ts";
import { later } from "../parts/later.tsx";
import { SESSION_KEY } from "../queries.ts";
import { useSession } from "../session.ts";

const Confirm = later(async () => (await import("../parts/dialogs/confirm.tsx")).Confirm);

const FEW = 3;
/** Ids of hidden invitations. */
const HIDDEN: KeptPlace<readonly string[]> = { key: "hidden-invitations", initial: [] };

export function WaitingInvitations() {
  const { invitations } = useSession();
  const [hidden, changeHidden] = useKept(HIDDEN);
  const [areAll, setAll] = useState(false);
  const waiting = invitations.filter(({ id }) => !hidden.includes(id));
  if (waiting.length === 0) return null;
  const shown = areAll ? waiting : waiting.slice(0, FEW);
  return (
    <Stack gap="xs" mb="md">
      {shown.map((invitation) => (
        <Waiting
          key={invitation.id}
          of={invitation}
          hide={() => changeHidden((before) => [...before, invitation.id])}
        />
      ))}
      {shown.length < waiting.length && (
        <Group>
          <Button size="xs" variant="default" onClick={() => setAll(true)}>
            Show all {waiting.length} invitations
          </Button>
        </Group>
      )}
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
  const [isAsked, setAsked] = useState(false);
  const decline = useAct({
    send: () => call("declineInvitation", { path: { id } }),
    changes: [SESSION_KEY],
    done: "The invitation is declined.",
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
          <Button
            size="xs"
            variant="subtle"
            color="gray"
            aria-label={`Decline the invitation to ${account_name}`}
            onClick={() => setAsked(true)}
          >
            Decline
          </Button>
        </Group>
      </Group>
      {isAsked && (
        <Confirm
          title={`Decline the invitation to ${account_name}?`}
          button="Decline"
          isPending={decline.isPending}
          act={() => decline.mutate()}
          close={() => setAsked(false)}
        >
          The invitation ends. To join later, you need a new one.
        </Confirm>
      )}
    </Alert>
  );
}
