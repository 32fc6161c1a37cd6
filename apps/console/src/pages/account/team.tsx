// The team page lists members with their roles, and open invitations.
import { type AnswerOf, mayActAs, type Role, roles } from "@gr/console-api";
import { Button, Group, Select, Stack, Table, Text, Title } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { type ComponentType, useState } from "react";
import { call } from "../../api/console-client.ts";
import { fromNow } from "../../parts/figures/figure-text.ts";
import { Time } from "../../parts/figures/figures.tsx";
import { useAct } from "../../parts/forms/act.ts";
import { later } from "../../parts/later.tsx";
import { Loaded } from "../../parts/lists/loaded.tsx";
import { RowsTable } from "../../parts/lists/rows-table.tsx";
import { SESSION_KEY } from "../../queries.ts";
import { useAccount, useSession } from "../../session.ts";
import type { Invited } from "./invite.tsx";
import { MemberBudget } from "./member-budget.tsx";

type Members = AnswerOf<"listMembers">;
type Member = Members["data"][number];
const NOBODY: Invited = { email: "", role: "developer" };

const Confirm = later(async () => (await import("../../parts/dialogs/confirm.tsx")).Confirm);
const Invite = later(async () => (await import("./invite.tsx")).Invite);
const AccountSettings = later(async () => (await import("./account-settings.tsx")).AccountSettings);
const RenameAccount = later(async () => (await import("./rename-account.tsx")).RenameAccount);

export function Team() {
  const { account_id: account, may } = useAccount();
  const [invited, setInvited] = useState<Invited>();
  const members = useQuery({
    queryKey: ["members", account],
    queryFn: ({ signal }) => call("listMembers", { path: { account }, signal }),
  });
  return (
    <Stack>
      <Group justify="space-between">
        <Title order={1} size="h2">
          Team
        </Title>
        {may("admin") && (
          <Group gap="xs">
            <OpensDialog name="Settings" dialog={AccountSettings} />
            <OpensDialog name="Rename account" dialog={RenameAccount} />
            <Button onClick={() => setInvited(NOBODY)}>Invite</Button>
          </Group>
        )}
      </Group>
      <Loaded of={members}>
        {({ data, invitations, budgets }) => (
          <>
            <MemberTable members={data} budgets={budgets} />
            {invitations.length > 0 && <Invitations invitations={invitations} resend={setInvited} />}
          </>
        )}
      </Loaded>
      <Rights />
      {invited !== undefined && <Invite of={invited} close={() => setInvited(undefined)} />}
    </Stack>
  );
}

function OpensDialog({
  name,
  dialog: Dialog,
}: {
  name: string;
  dialog: ComponentType<{ readonly close: () => void }>;
}) {
  const [isOpen, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button variant="default" onClick={open}>
        {name}
      </Button>
      {isOpen && <Dialog close={close} />}
    </>
  );
}

/** Rights, each with the least role that has it. */
const RIGHTS = [
  ["Read all pages", "viewer"],
  ["API keys and Playground", "developer"],
  ["Members, budgets, money, alerts", "admin"],
  ["Owners", "owner"],
] as const;

function Rights() {
  return (
    <Stack gap="xs" component="section" aria-label="Roles">
      <Title order={2} size="h4">
        Roles
      </Title>
      <RowsTable heads={["Role", ...RIGHTS.map(([right]) => right)]} minWidth={600}>
        {roles.map((role) => (
          <Table.Tr key={role}>
            <Table.Td fw={500}>{role}</Table.Td>
            {RIGHTS.map(([right, least]) => (
              <Table.Td key={right}>
                {mayActAs(role, least) ? (
                  <IconCheck size={16} display="block" role="img" aria-label="yes" />
                ) : (
                  "–"
                )}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </RowsTable>
    </Stack>
  );
}

function MemberTable({ members, budgets }: { members: readonly Member[]; budgets: Members["budgets"] }) {
  return (
    <RowsTable heads={["Who", "Role", "Budget", "Since"]} hasActions minWidth={760}>
      {members.map((member) => (
        <MemberRow key={member.person_id} member={member} budgets={budgets} />
      ))}
    </RowsTable>
  );
}

function MemberRow({ member, budgets }: { member: Member; budgets: Members["budgets"] }) {
  const { account_id: account, may } = useAccount();
  const { person } = useSession();
  const isMe = member.person_id === person?.id;
  const path = { account, person: member.person_id };
  const [asked, setAsked] = useState<Role | "remove">();
  const close = () => setAsked(undefined);
  const change = useAct({
    send: (role: Role) => call("changeRole", { path, body: { role } }),
    changes: [["members", account], ...(isMe ? [SESSION_KEY] : [])],
    done: "The role is changed.",
    after: close,
  });
  const remove = useAct({
    send: () => call("removeMember", { path }),
    changes: [["members", account], ...(isMe ? [SESSION_KEY] : [])],
    done: isMe ? "You left the account." : "The member is removed.",
    after: close,
  });
  return (
    <Table.Tr>
      <Table.Td className="break-anywhere">
        {member.name}{" "}
        <Text span c="dimmed" size="sm">
          {member.email}
        </Text>
      </Table.Td>
      <Table.Td>
        {may("admin") ? (
          <Select
            aria-label={`Role of ${member.email}`}
            allowDeselect={false}
            w={140}
            data={[...roles]}
            value={member.role}
            disabled={change.isPending || (member.role === "owner" && !may("owner"))}
            onChange={(role) => {
              if (role !== null && role !== member.role) setAsked(role as Role);
            }}
          />
        ) : (
          member.role
        )}
      </Table.Td>
      <Table.Td>
        {budgets === null ? (
          <Text size="sm" c="dimmed">
            not readable now
          </Text>
        ) : (
          <MemberBudget member={member} budget={budgets.find(({ id }) => id === member.person_id)} />
        )}
      </Table.Td>
      <Table.Td>
        <Time at={member.joined_at} />
      </Table.Td>
      <Table.Td>
        {(may("admin") || isMe) && (
          <Button
            variant="default"
            size="compact-sm"
            onClick={() => setAsked("remove")}
            aria-label={isMe ? "Leave account" : `Remove ${member.email}`}
          >
            {isMe ? "Leave" : "Remove"}
          </Button>
        )}
        {asked === "remove" && (
          <Confirm
            title={isMe ? "Leave this account?" : `Remove ${member.name || member.email}?`}
            button={isMe ? "Leave" : "Remove"}
            isPending={remove.isPending}
            act={() => remove.mutate()}
            close={close}
          >
            {isMe ? "Only an invitation brings you back. " : "The person loses access at once. "}
            Keys of the account keep working.
          </Confirm>
        )}
        {asked !== undefined && asked !== "remove" && (
          <Confirm
            title={`Make ${member.name || member.email} ${asked}?`}
            button="Change the role"
            isPending={change.isPending}
            act={() => change.mutate(asked)}
            close={close}
          >
            The role changes from {member.role} to {asked}, at once.
          </Confirm>
        )}
      </Table.Td>
    </Table.Tr>
  );
}

interface InvitationsProps {
  readonly invitations: Members["invitations"];
  readonly resend: (invited: Invited) => void;
}

function Invitations({ invitations, resend }: InvitationsProps) {
  const { account_id: account, may } = useAccount();
  const withdraw = useAct({
    send: (id: string) => call("withdrawInvitation", { path: { account, id } }),
    changes: [["members", account]],
    done: "The invitation is withdrawn.",
  });
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        Invited
      </Title>
      <RowsTable heads={["Address", "Role", "Invited by", "Ends"]} hasActions={may("admin")} minWidth={600}>
        {invitations.map(({ id, email, role, invited_by, expires_at }) => (
          <Table.Tr key={id}>
            <Table.Td className="break-anywhere">{email}</Table.Td>
            <Table.Td>{role}</Table.Td>
            <Table.Td className="break-anywhere">{invited_by}</Table.Td>
            <Table.Td>{fromNow(expires_at)}</Table.Td>
            {may("admin") && (
              <Table.Td>
                <Group gap="xs" justify="flex-end">
                  {(role !== "owner" || may("owner")) && (
                    <Button
                      variant="default"
                      size="compact-sm"
                      onClick={() => resend({ email, role })}
                      aria-label={`Resend the invitation of ${email}`}
                    >
                      Resend
                    </Button>
                  )}
                  <Button
                    variant="default"
                    size="compact-sm"
                    onClick={() => withdraw.mutate(id)}
                    aria-label={`Withdraw the invitation of ${email}`}
                  >
                    Withdraw
                  </Button>
                </Group>
              </Table.Td>
            )}
          </Table.Tr>
        ))}
      </RowsTable>
    </Stack>
  );
}
