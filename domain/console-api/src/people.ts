// People, their sessions, and which accounts they belong to.
import { z } from "zod";
import { email, name, page, password, time } from "./fields.ts";
import { roleField } from "./roles.ts";

export const person = z.object({ id: z.string(), email: z.string(), name: z.string() });

export const membership = z.object({
  account_id: z.string(),
  account_name: z.string(),
  role: roleField,
});
export type Membership = z.infer<typeof membership>;

/** What the application asks for first. */
export const sessionState = z.object({
  person: person.nullable().describe("null = nobody is signed in"),
  accounts: z.array(membership).describe("oldest first; empty = the person belongs to none yet"),
  sign_up: z.enum(["open", "closed"]).describe("closed: people are invited, or added by the operator"),
  sends_mail: z
    .boolean()
    .describe("false = no mail server is set: links are shown to the operator, and invitations show theirs"),
});
export type SessionState = z.infer<typeof sessionState>;

/** Links that were mailed end in `#token=…`; the application sends the token on. */
const token = z.string({ error: "It must be the token of the link" }).min(1).max(500);
/** Checked against what is kept, so its rules for new ones do not matter. */
const knownPassword = z.string({ error: "It must be a password" }).min(1).max(1_000);

export const signUpBody = z.object({ email, password, name });
export const signInBody = z.object({ email, password: knownPassword });
export const tokenBody = z.object({ token });
export const emailBody = z.object({ email });
export const newPasswordBody = z.object({ token, password });
export const changePasswordBody = z.object({ current_password: knownPassword, new_password: password });
export const newAccountBody = z.object({ name });

export const session = z.object({
  id: z.string(),
  created_at: time,
  last_used_at: time,
  expires_at: time,
  address: z.string().nullable(),
  user_agent: z.string().nullable(),
  is_current: z.boolean(),
});
export const sessionList = z.object({ data: z.array(session) });

export const member = z.object({
  person_id: z.string(),
  email: z.string(),
  name: z.string(),
  role: roleField,
  joined_at: time,
});
export const invitation = z.object({
  id: z.string(),
  email: z.string(),
  role: roleField,
  invited_by: z.string().describe("e-mail address"),
  created_at: time,
  expires_at: time,
});
export const memberList = z.object({ data: z.array(member), invitations: z.array(invitation) });
export const invitationBody = z.object({ email, role: roleField });
export const newInvitation = invitation.extend({
  link: z.string().nullable().describe("for the inviter to hand on; null = it was mailed"),
});
export const roleBody = z.object({ role: roleField });

export const auditEntry = z.object({
  id: z.string(),
  at: time,
  actor: z.string().nullable().describe("e-mail address; null = the operator"),
  action: z.string().describe("such as key.created, member.role_changed"),
  subject: z.string().nullable().describe("id of what was changed"),
  detail: z.record(z.string(), z.string()),
  address: z.string().nullable(),
});
export const auditPage = page(auditEntry);
