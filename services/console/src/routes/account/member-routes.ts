// Member routes serve the name of an account, its settings, its members and their roles. Only owners add and change owners, and one
// always stays.
import { randomUUID } from "node:crypto";
import { mayActAs, type Role, responseFormat } from "@gr/console-api";
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { requireRole } from "../../door/authorize.ts";
import { accountOf, type Handlers, signedInOf } from "../../door/console-call.ts";
import { createToken, digestOfToken } from "../../people/invitation-token.ts";
import { readBudgets } from "../../requests/budgets.ts";
import type { Invitation, Member } from "../../store.ts";
import { readAuditPage, recordAudit } from "../audit.ts";

const INVITATION_MS = 7 * 86_400_000;

type MemberRoutes = Handlers<
  | "renameAccount"
  | "readSettings"
  | "changeSettings"
  | "listMembers"
  | "invite"
  | "withdrawInvitation"
  | "changeRole"
  | "removeMember"
  | "readAudit"
>;

export function memberRoutes(deps: ConsoleDeps): MemberRoutes {
  const { store, accounts, keys, attempts, mailer, links, events, clock } = deps;
  return {
    renameAccount: async (call) => {
      const { name } = call.body;
      const before = await accounts.rename(accountOf(call), name);
      await recordAudit(deps, call, { action: "account.renamed", detail: { from: before, to: name } });
      return undefined;
    },
    readSettings: async (call) => {
      const { account } = await keys.getAccount({ accountId: accountOf(call) });
      const format = responseFormat.safeParse(account?.defaultResponseFormat);
      return { default_response_format: format.data ?? null };
    },
    changeSettings: async (call) => {
      const accountId = accountOf(call);
      const { default_response_format: format } = call.body;
      const before = await keys.getAccount({ accountId });
      await keys.updateAccount({ accountId, defaultResponseFormat: format ?? "" });
      const from = before.account?.defaultResponseFormat || "url";
      const detail = { setting: "default_response_format", from, to: format ?? "url" };
      await recordAudit(deps, call, { action: "account.settings_changed", detail });
      return undefined;
    },
    listMembers: async (call) => {
      const accountId = accountOf(call);
      const [members, invitations] = await Promise.all([
        store.members(accountId),
        store.invitations(accountId),
      ]);
      const ids = members.map(({ personId }) => personId);
      const budgets = await readBudgets(deps, accountId, ids).catch((error: unknown) => {
        events.memberBudgetsNotRead(accountId, error);
        return undefined;
      });
      return {
        data: members.map(memberRecord),
        invitations: invitations.map(invitationRecord),
        budgets: budgets === undefined ? null : [...budgets.values()],
      };
    },
    invite: async (call) => {
      const accountId = accountOf(call);
      const { email, role } = call.body;
      requireRole(call.role, atLeastAdmin(role));
      const members = await store.members(accountId);
      if (members.some((member) => member.email === email)) {
        throw new ServiceError("already_member", `${email} belongs to the account already.`, {
          param: "email",
        });
      }
      if (mailer.sends) await attempts.countMail({ email, network: call.network, accountId });
      const token = createToken();
      const invitation = await store.invite({
        id: randomUUID(),
        accountId,
        email,
        role,
        invitedBy: signedInOf(call).person.email,
        tokenDigest: digestOfToken(token),
        expiresAt: new Date(clock.now() + INVITATION_MS),
        isMailed: mailer.sends,
      });
      const link = links.invitation(token);
      const subject = "You are invited to an account of the Generation Router";
      const text = `${invitation.invitedBy} invites you as ${role}. The link works for seven days.`;
      if (mailer.sends) mailer.send({ to: email, subject, text, link });
      await recordAudit(deps, call, {
        action: "member.invited",
        subject: invitation.id,
        detail: { email, role },
      });
      return { ...invitationRecord(invitation), link: mailer.sends ? null : link };
    },
    withdrawInvitation: async (call) => {
      const { id = "" } = call.params;
      if (!isUuid(id) || !(await store.withdrawInvitation(accountOf(call), id))) {
        throw new ServiceError("invitation_not_found", "The invitation does not exist.", { param: "id" });
      }
      await recordAudit(deps, call, { action: "invitation.withdrawn", subject: id });
      return undefined;
    },
    changeRole: async (call) => {
      const { role } = call.body;
      const personId = personIn(call.params);
      const changed = await store.changeMember(accountOf(call), personId, (member, owners) => {
        if (member === undefined) throw noMember();
        requireRole(call.role, atLeastAdmin(role));
        requireRole(call.role, atLeastAdmin(member.role));
        if (member.role === "owner" && role !== "owner") keepOwner(owners);
        return role;
      });
      if (changed === undefined) throw noMember();
      await recordAudit(deps, call, { action: "member.role_changed", subject: personId, detail: { role } });
      return memberRecord(changed);
    },
    removeMember: async (call) => {
      const personId = personIn(call.params);
      const isSelf = personId === signedInOf(call).person.id;
      await store.changeMember(accountOf(call), personId, (member, owners) => {
        // Members without the right to remove others must not learn their names.
        if (!isSelf) requireRole(call.role, "admin");
        if (member === undefined) throw noMember();
        if (!isSelf) requireRole(call.role, atLeastAdmin(member.role));
        if (member.role === "owner") keepOwner(owners);
        return "removed";
      });
      await recordAudit(deps, call, { action: isSelf ? "member.left" : "member.removed", subject: personId });
      return undefined;
    },
    readAudit: (call) => readAuditPage(deps, accountOf(call), call.query),
  };
}

/** Returns the role that a change needs: only an owner may change an owner. */
function atLeastAdmin(role: Role): Role {
  return mayActAs(role, "owner") ? "owner" : "admin";
}

function keepOwner(owners: number): void {
  if (owners > 1) return;
  throw new ServiceError(
    "last_owner",
    "The account has no other owner; give another member the role owner first.",
  );
}

export function personIn({ person = "" }: Readonly<Record<string, string>>): string {
  if (!isUuid(person)) throw noMember();
  return person.toLowerCase();
}

export function noMember(): ServiceError {
  return new ServiceError("person_not_found", "The person is not a member of this account.", {
    param: "person",
  });
}

function memberRecord({ personId, email, name, role, joinedAt }: Member) {
  return { person_id: personId, email, name, role, joined_at: joinedAt.toISOString() };
}

function invitationRecord({ id, email, role, invitedBy, createdAt, expiresAt }: Invitation) {
  const times = { created_at: createdAt.toISOString(), expires_at: expiresAt.toISOString() };
  return { id, email, role, invited_by: invitedBy, ...times };
}
