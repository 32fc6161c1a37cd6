// Every route of the console, with who may call it. `:account` is the id of an account that the caller belongs to; for
// anybody else it does not exist.
import { z } from "zod";
import * as account from "./account-records.ts";
import { day, pageQuery } from "./fields.ts";
import * as people from "./people.ts";
import type { Role } from "./roles.ts";
import * as usage from "./usage-records.ts";

/** open: everybody; person: whoever is signed in; a role: members of the account who may act as that. */
export type ConsoleAccess = "open" | "person" | Role;

export interface ConsoleRoute {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly path: `/console/api/${string}`;
  readonly access: ConsoleAccess;
  readonly summary: string;
  readonly query?: z.ZodType;
  readonly body?: z.ZodType;
  /** Of success; 200 unless said otherwise. */
  readonly status?: 201 | 202 | 204;
  /** JSON; absent = no body, or the CSV that the path names. */
  readonly answer?: z.ZodType;
}

const routes = <Table extends Record<string, ConsoleRoute>>(table: Table) => table;

const ledgerFilter = {
  kind: account.ledgerKind.optional(),
  from: day.optional().describe("first day, UTC"),
  to: day.optional().describe("last day, UTC"),
};

/** People and sessions. */
const personRoutes = routes({
  readSession: {
    method: "GET",
    path: "/console/api/session",
    access: "open",
    summary: "Who is signed in, and what they belong to",
    answer: people.sessionState,
  },
  signUp: {
    method: "POST",
    path: "/console/api/sign-up",
    access: "open",
    summary:
      "Ask for a person; a link to verify the address follows. The answer is the same for a known address",
    body: people.signUpBody,
    status: 202,
  },
  sendVerification: {
    method: "POST",
    path: "/console/api/verify-email/send",
    access: "open",
    summary: "Send the link to verify an address again, if there is one to verify",
    body: people.emailBody,
    status: 202,
  },
  verifyEmail: {
    method: "POST",
    path: "/console/api/verify-email",
    access: "open",
    summary: "Verify an address by the token of its link, and sign in",
    body: people.tokenBody,
    answer: people.sessionState,
  },
  signIn: {
    method: "POST",
    path: "/console/api/sign-in",
    access: "open",
    summary: "Sign in by e-mail address and password",
    body: people.signInBody,
    answer: people.sessionState,
  },
  signInByLink: {
    method: "POST",
    path: "/console/api/sign-in/link",
    access: "open",
    summary: "Sign in by the token of a one-time link",
    body: people.tokenBody,
    answer: people.sessionState,
  },
  signOut: {
    method: "POST",
    path: "/console/api/sign-out",
    access: "open",
    summary: "End this session",
    status: 204,
  },
  askPasswordReset: {
    method: "POST",
    path: "/console/api/password-reset",
    access: "open",
    summary: "Send a link to set a new password, if the address is known; the answer does not tell",
    body: people.emailBody,
    status: 202,
  },
  resetPassword: {
    method: "POST",
    path: "/console/api/password-reset/confirm",
    access: "open",
    summary: "Set a new password by the token of a link; all sessions of the person end",
    body: people.newPasswordBody,
    status: 204,
  },
  changePassword: {
    method: "POST",
    path: "/console/api/password",
    access: "person",
    summary: "Change the own password; all other sessions end",
    body: people.changePasswordBody,
    status: 204,
  },
  listSessions: {
    method: "GET",
    path: "/console/api/sessions",
    access: "person",
    summary: "The own sessions",
    answer: people.sessionList,
  },
  endSession: {
    method: "DELETE",
    path: "/console/api/sessions/:id",
    access: "person",
    summary: "End one of the own sessions",
    status: 204,
  },
  endOtherSessions: {
    method: "DELETE",
    path: "/console/api/sessions",
    access: "person",
    summary: "End all own sessions but this one",
    status: 204,
  },
  createAccount: {
    method: "POST",
    path: "/console/api/accounts",
    access: "person",
    summary: "Open an account and own it, where sign-up is open",
    body: people.newAccountBody,
    status: 201,
    answer: people.membership,
  },
  acceptInvitation: {
    method: "POST",
    path: "/console/api/invitations/accept",
    access: "person",
    summary: "Join an account by the token of an invitation to the own address",
    body: people.tokenBody,
    answer: people.membership,
  },
});

/** Members of an account, and what they did. */
const memberRoutes = routes({
  listMembers: {
    method: "GET",
    path: "/console/api/accounts/:account/members",
    access: "viewer",
    summary: "Members, and invitations that were not accepted yet",
    answer: people.memberList,
  },
  invite: {
    method: "POST",
    path: "/console/api/accounts/:account/invitations",
    access: "admin",
    summary: "Invite an address; only an owner invites an owner",
    body: people.invitationBody,
    status: 201,
    answer: people.newInvitation,
  },
  withdrawInvitation: {
    method: "DELETE",
    path: "/console/api/accounts/:account/invitations/:id",
    access: "admin",
    summary: "Withdraw an invitation",
    status: 204,
  },
  changeRole: {
    method: "PATCH",
    path: "/console/api/accounts/:account/members/:person",
    access: "admin",
    summary: "Change a member's role; only an owner makes or changes an owner, and one owner always stays",
    body: people.roleBody,
    answer: people.member,
  },
  removeMember: {
    method: "DELETE",
    path: "/console/api/accounts/:account/members/:person",
    access: "viewer",
    summary: "Remove a member (as admin), or leave (oneself); one owner always stays",
    status: 204,
  },
  readAudit: {
    method: "GET",
    path: "/console/api/accounts/:account/audit",
    access: "admin",
    summary: "Who did what, newest first",
    query: z.object(pageQuery),
    answer: people.auditPage,
  },
});

/** Keys, money, usage. */
const accountRoutes = routes({
  readHome: {
    method: "GET",
    path: "/console/api/accounts/:account/home",
    access: "viewer",
    summary: "Balance, spend, first steps, last failures",
    answer: account.homeRecord,
  },
  listKeys: {
    method: "GET",
    path: "/console/api/accounts/:account/keys",
    access: "viewer",
    summary: "Keys, newest first",
    query: z.object({ ...pageQuery, kind: account.keyKind.default("normal") }),
    answer: account.keyPage,
  },
  createKey: {
    method: "POST",
    path: "/console/api/accounts/:account/keys",
    access: "developer",
    summary: "Create a key; a management key takes an admin",
    body: account.newKeyBody,
    status: 201,
    answer: account.mintedKey,
  },
  changeKey: {
    method: "PATCH",
    path: "/console/api/accounts/:account/keys/:id",
    access: "developer",
    summary: "Change, disable or enable a key; a management key takes an admin",
    body: account.keyChangeBody,
    answer: account.keyRecord,
  },
  rotateKey: {
    method: "POST",
    path: "/console/api/accounts/:account/keys/:id/rotate",
    access: "developer",
    summary: "A new key like this one, which expires when the overlap ends; a management key takes an admin",
    body: account.rotateBody,
    status: 201,
    answer: account.mintedKey,
  },
  deleteKey: {
    method: "DELETE",
    path: "/console/api/accounts/:account/keys/:id",
    access: "developer",
    summary: "Delete a key at once and for good; a management key takes an admin",
    status: 204,
  },
  issueWebToken: {
    method: "POST",
    path: "/console/api/accounts/:account/web-token",
    access: "developer",
    summary: "A token with which the playground calls the real API and spends from the account",
    answer: account.webToken,
  },
  readLedger: {
    method: "GET",
    path: "/console/api/accounts/:account/ledger",
    access: "viewer",
    summary: "What changed the balance, newest first",
    query: z.object({ ...pageQuery, ...ledgerFilter }),
    answer: account.ledgerPage,
  },
  exportLedger: {
    method: "GET",
    path: "/console/api/accounts/:account/ledger.csv",
    access: "viewer",
    summary: "The same as CSV, oldest of the newest 100,000 lines last",
    query: z.object(ledgerFilter),
  },
  readUsage: {
    method: "GET",
    path: "/console/api/accounts/:account/usage",
    access: "viewer",
    summary: "Requests and spend, summed",
    query: usage.usageQuery,
    answer: usage.usageAnswer,
  },
  exportUsage: {
    method: "GET",
    path: "/console/api/accounts/:account/usage.csv",
    access: "viewer",
    summary: "The same as CSV",
    query: usage.usageQuery,
  },
  listGenerations: {
    method: "GET",
    path: "/console/api/accounts/:account/generations",
    access: "viewer",
    summary: "The log of images and videos, newest first",
    query: z.object({
      ...pageQuery,
      kind: usage.generationKind.optional(),
      model: z.string().min(1).max(300).optional(),
      status: usage.generationStatus.optional(),
      key_id: z.string().min(1).max(100).optional(),
      from: day.optional(),
      to: day.optional(),
    }),
    answer: usage.generationPage,
  },
});

export const consoleRoutes = { ...personRoutes, ...memberRoutes, ...accountRoutes };
export type ConsoleRouteName = keyof typeof consoleRoutes;

type Part<Name extends ConsoleRouteName, Key extends "query" | "body" | "answer"> =
  (typeof consoleRoutes)[Name] extends Record<Key, infer Schema extends z.ZodType> ? Schema : never;

/** What a caller sends, and what it gets. */
export type QueryOf<Name extends ConsoleRouteName> = z.input<Part<Name, "query">>;
export type BodyOf<Name extends ConsoleRouteName> = z.input<Part<Name, "body">>;
export type AnswerOf<Name extends ConsoleRouteName> = z.output<Part<Name, "answer">>;
