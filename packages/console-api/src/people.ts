// Records of people, their sessions and their memberships.
import { z } from "zod";
import { budgetRecord } from "./budget-records.ts";
import { email, name, page, password, role, time } from "./fields.ts";

export const person = z.object({ id: z.string(), email: z.string(), name: z.string() });

export const membership = z.object({
  account_id: z.string(),
  account_name: z.string(),
  role,
});
export type Membership = z.infer<typeof membership>;

/** Invitation to the address of the signed-in person. */
export const waitingInvitation = z.object({
  id: z.string(),
  account_name: z.string(),
  role,
  invited_by: z.string().describe("e-mail address"),
});
export type WaitingInvitation = z.infer<typeof waitingInvitation>;

/** First request of the application. */
export const sessionState = z.object({
  person: person.nullable().describe("null = nobody is signed in"),
  accounts: z.array(membership).describe("oldest first; empty = the person belongs to none yet"),
  invitations: z
    .array(waitingInvitation)
    .describe(
      "live invitations to the address of the person, oldest first, at most 20; an answered one is replaced by the next",
    ),
  sign_up: z.enum(["open", "closed"]).describe("closed: people are invited, or added by the operator"),
  sends_mail: z
    .boolean()
    .describe("false = no mail server is set: links are shown to the operator, and invitations show theirs"),
  has_password: z
    .boolean()
    .describe("false = the person has only signed in by links, passkeys or the issuer"),
  is_operator: z.boolean().describe("may use the operator area; no role of an account includes it"),
  single_sign_on: z
    .string()
    .nullable()
    .describe("name of the issuer for single sign-on; null = no issuer is configured"),
  takes_passkeys: z.boolean().describe("false = switched off, or browsers would refuse them at this address"),
  takes_payments: z.boolean().describe("false = only the operator adds credits"),
});
export type SessionState = z.infer<typeof sessionState>;

/** Links that were mailed end in `#token=…`; the application sends the token on. */
const token = z.string({ error: "It must be the token of the link" }).min(1).max(500);
/** An existing password. The stored digest checks it, so the rules for new passwords do not apply. */
const knownPassword = z.string({ error: "It must be a password" }).min(1).max(1_000);

export const signInBody = z.object({ email, password: knownPassword });
export const tokenBody = z.object({ token });
export const firstPasswordBody = z.object({ token, name, password });
export const emailBody = z.object({ email });
export const newPasswordBody = z.object({ token, password });
export const changePasswordBody = z.object({
  current_password: knownPassword.nullable().describe("null = the person has no password yet"),
  new_password: password,
});
export const newAccountBody = z.object({ name });

/** Forms of the files in an answer about images or videos. */
export const responseFormat = z.enum(["url", "b64_json", "b64_ephemeral"], {
  error: "It must be url, b64_json, b64_ephemeral or null",
});
export const accountSettings = z.strictObject({
  default_response_format: responseFormat
    .nullable()
    .describe(
      "response_format of image and video requests without one, for keys without a default; null = url",
    ),
});

/** Address of the issuer's page, which redirects back to `/sign-in/oidc` with its answer in the query. */
export const oidcBegun = z.object({ url: z.string() });
export const oidcAnswer = z.object({
  answer: z
    .string({ error: "It must be the query that the issuer has sent along" })
    .min(1)
    .max(8_000)
    .describe("query of the redirect, unchanged, for example code=…&state=…"),
});
export const identity = z.object({
  id: z.string(),
  issuer: z.string(),
  created_at: time,
  last_used_at: time,
});
export const identityList = z.object({ data: z.array(identity) });

/** Options for navigator.credentials; the standard defines their content. */
export const passkeyOptions = z.object({ options: z.record(z.string(), z.unknown()) });
/** Result of navigator.credentials, as JSON. */
const passkeyAnswer = z.looseObject(
  {
    id: z.string().min(1).max(2_000),
    type: z.literal("public-key"),
    response: z.looseObject({ clientDataJSON: z.string() }),
  },
  { error: "It must be the answer of the browser" },
);
export const passkeySignIn = z.object({ passkey: passkeyAnswer });
export const newPasskeyBody = z.object({ name, passkey: passkeyAnswer });
export const passkeyNameBody = z.object({ name });
export const passkey = z.object({
  id: z.string(),
  name: z.string(),
  created_at: time,
  last_used_at: time.nullable(),
});
export const passkeyList = z.object({ data: z.array(passkey) });

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
  role,
  joined_at: time,
});
export const invitation = z.object({
  id: z.string(),
  email: z.string(),
  role,
  invited_by: z.string().describe("e-mail address"),
  created_at: time,
  expires_at: time,
});
export const memberList = z.object({
  data: z.array(member),
  invitations: z.array(invitation),
  budgets: z
    .array(budgetRecord)
    .nullable()
    .describe(
      "limits that all keys of one member share, by the id of the person; null = billing does not answer",
    ),
});
export const invitationBody = z.object({ email, role });
export const newInvitation = invitation.extend({
  link: z.string().nullable().describe("for the inviter to hand on; null = it was mailed"),
});
/** Invitation for the browser that has the token of its link. */
export const openInvitation = z.object({
  email: z.string(),
  account_name: z.string(),
  role,
  invited_by: z.string().describe("e-mail address"),
  is_for_new_person: z
    .boolean()
    .describe("true: the link sets a password; false: sign in, or sign up, with the address first"),
});
export type OpenInvitation = z.infer<typeof openInvitation>;
export const roleBody = z.object({ role });

export const auditEntry = z.object({
  id: z.string(),
  at: time,
  actor: z.string().nullable().describe("e-mail address; null = the operator"),
  action: z.string().describe("for example key.created, member.role_changed"),
  subject: z.string().nullable().describe("id of the changed object"),
  detail: z.record(z.string(), z.string()),
  address: z.string().nullable(),
});
export const auditPage = page(auditEntry);
