// The route table lists every route of the console, with its permitted callers.
// `:account` is the id of an account that the caller belongs to; for other callers it does not exist.
import { z } from "zod";
import * as account from "./account-records.ts";
import * as alerts from "./alert-records.ts";
import * as budgets from "./budget-records.ts";
import { routes } from "./console-route.ts";
import { day, pageQuery } from "./fields.ts";
import * as health from "./operator/health-records.ts";
import * as operator from "./operator/operator-records.ts";
import * as router from "./operator/router-records.ts";
import * as people from "./people.ts";
import { personRoutes } from "./person-routes.ts";
import * as requests from "./request-records.ts";
import { topUpRoutes } from "./top-up-routes.ts";
import * as usage from "./usage-records.ts";

const ledgerFilter = {
  kind: account.ledgerKind.optional(),
  from: day.optional().describe("first day, UTC"),
  to: day.optional().describe("last day, UTC"),
};

/** Routes of an account's name, members and audit events. */
const memberRoutes = routes({
  renameAccount: {
    method: "PATCH",
    path: "/console/api/accounts/:account/name",
    access: "admin",
    summary: "Rename the account",
    body: people.newAccountBody,
    status: 204,
  },
  readSettings: {
    method: "GET",
    path: "/console/api/accounts/:account/settings",
    access: "viewer",
    summary: "Settings of the account for its requests",
    answer: people.accountSettings,
  },
  changeSettings: {
    method: "PATCH",
    path: "/console/api/accounts/:account/settings",
    access: "admin",
    summary: "Change the settings of the account",
    body: people.accountSettings,
    status: 204,
  },
  listMembers: {
    method: "GET",
    path: "/console/api/accounts/:account/members",
    access: "viewer",
    summary: "Members, and open invitations",
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
    summary:
      "Change a member's role; only an owner changes the role of an owner or to owner, and one owner always remains",
    body: people.roleBody,
    answer: people.member,
  },
  removeMember: {
    method: "DELETE",
    path: "/console/api/accounts/:account/members/:person",
    access: "viewer",
    summary:
      "Remove a member: an admin removes others, each member may remove itself; one owner always remains",
    status: 204,
  },
  setMemberBudget: {
    method: "PATCH",
    path: "/console/api/accounts/:account/members/:person/budget",
    access: "admin",
    summary:
      "Set the limit that all keys of a member share; its keys without a budget come below it. Only an owner limits an owner",
    body: budgets.memberBudgetBody,
    answer: budgets.budgetRecord,
  },
  readAudit: {
    method: "GET",
    path: "/console/api/accounts/:account/audit",
    access: "admin",
    summary: "Audit log of the account: person and action, newest first",
    query: z.object(pageQuery),
    answer: people.auditPage,
  },
});

/** Routes of keys, money and usage. */
const accountRoutes = routes({
  readStanding: {
    method: "GET",
    path: "/console/api/accounts/:account/standing",
    access: "viewer",
    summary: "Suspension of the account: its state, its reason, and the operator's contact",
    answer: account.accountStanding,
  },
  readHome: {
    method: "GET",
    path: "/console/api/accounts/:account/home",
    access: "viewer",
    summary: "Balance, spend, first steps",
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
    summary: "Create a key; a management key requires an admin",
    body: account.newKeyBody,
    status: 201,
    answer: account.mintedKey,
  },
  changeKey: {
    method: "PATCH",
    path: "/console/api/accounts/:account/keys/:id",
    access: "developer",
    summary: "Change, disable or enable a key; a management key requires an admin",
    body: account.keyChangeBody,
    answer: account.keyRecord,
  },
  rotateKey: {
    method: "POST",
    path: "/console/api/accounts/:account/keys/:id/rotate",
    access: "developer",
    summary:
      "Replace the newest secret of a key. The former secret works until the overlap ends, from the same limit; a repeated rotation keeps it. An overlap of 0 ends all other secrets. A management key requires an admin",
    body: account.rotateBody,
    status: 201,
    answer: account.rotatedKey,
  },
  deleteKey: {
    method: "DELETE",
    path: "/console/api/accounts/:account/keys/:id",
    access: "developer",
    summary: "Delete a key at once and for good; a management key requires an admin",
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
    summary: "Changes of the balance, newest first",
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
  readActivity: {
    method: "GET",
    path: "/console/api/accounts/:account/activity",
    access: "viewer",
    summary: "Spend, requests, errors, tokens and times of requests over time",
    query: usage.activityQuery,
    answer: usage.activityAnswer,
  },
  exportActivity: {
    method: "GET",
    path: "/console/api/accounts/:account/activity.csv",
    access: "viewer",
    summary: "The same as CSV",
    query: usage.activityQuery,
  },
  listRequests: {
    method: "GET",
    path: "/console/api/accounts/:account/requests",
    access: "viewer",
    summary: "The log of images, videos and text requests, newest first",
    query: requests.requestQuery,
    answer: requests.requestPage,
  },
  summarizeRequests: {
    method: "GET",
    path: "/console/api/accounts/:account/requests/summary",
    access: "viewer",
    summary: "Sums and bars of all requests of the log by the same filters",
    query: requests.requestFilter,
    answer: requests.requestSummary,
  },
  exportRequests: {
    method: "GET",
    path: "/console/api/accounts/:account/requests.csv",
    access: "viewer",
    summary: "The log by the same filters as CSV, at most the newest 10,000 requests",
    query: requests.requestFilter,
  },
  readRequest: {
    method: "GET",
    path: "/console/api/accounts/:account/requests/:id",
    access: "viewer",
    summary: "One request, and the lines of its charge",
    answer: requests.requestRecord,
  },
  readSavedText: {
    method: "GET",
    path: "/console/api/accounts/:account/requests/:id/text",
    access: "viewer",
    summary: "Saved prompt and answer of a text request",
    answer: requests.foundSavedText,
  },
  readSavedTextUse: {
    method: "GET",
    path: "/console/api/accounts/:account/saved-texts",
    access: "viewer",
    summary: "Retention of saved prompts and answers, and their bytes",
    answer: requests.savedTextUse,
  },
  deleteSavedText: {
    method: "DELETE",
    path: "/console/api/accounts/:account/requests/:id/text",
    access: "developer",
    summary: "Delete the saved prompt and answer of a text request for good; its charge remains",
    answer: requests.deletedTexts,
  },
  deleteSavedTextsOfKey: {
    method: "DELETE",
    path: "/console/api/accounts/:account/keys/:id/saved-texts",
    access: "developer",
    summary: "Delete all prompts and answers that a key has saved, for good",
    answer: requests.deletedTexts,
  },
  deleteSavedTexts: {
    method: "DELETE",
    path: "/console/api/accounts/:account/saved-texts",
    access: "admin",
    summary: "Delete all saved prompts and answers of the account for good",
    answer: requests.deletedTexts,
  },
  removeMedia: {
    method: "DELETE",
    path: "/console/api/accounts/:account/requests/:id/media",
    access: "developer",
    summary: "Remove the files and the prompt of an image or a video for good; its charge remains",
    answer: requests.removedMedia,
  },
});

/** Routes of an account's alerts. */
const alertRoutes = routes({
  listAlerts: {
    method: "GET",
    path: "/console/api/accounts/:account/alerts",
    access: "viewer",
    summary: "Alerts of the last 90 days, newest first",
    query: z.object(pageQuery),
    answer: alerts.alertPage,
  },
  readAlertSettings: {
    method: "GET",
    path: "/console/api/accounts/:account/alerts/settings",
    access: "admin",
    summary: "Thresholds of the alerts, and the ways to send them",
    answer: alerts.alertSettings,
  },
  changeAlertSettings: {
    method: "PATCH",
    path: "/console/api/accounts/:account/alerts/settings",
    access: "admin",
    summary: "Replace the settings of the alerts; the account is checked at once",
    body: alerts.alertSettingsBody,
    answer: alerts.alertSettings,
  },
  testAlert: {
    method: "POST",
    path: "/console/api/accounts/:account/alerts/test",
    access: "admin",
    summary: "Send a test by mail and webhook, as the settings say; at most ten times an hour",
    status: 204,
  },
  rotateAlertSecret: {
    method: "POST",
    path: "/console/api/accounts/:account/alerts/webhook-secret",
    access: "admin",
    summary:
      "Create a signing secret for all webhooks of the account; the secret before signs for 24 hours more",
    status: 201,
    answer: alerts.webhookSecret,
  },
});

/** Routes of the router's operators. `:id` is any account of the console. */
const operatorRoutes = routes({
  findAccounts: {
    method: "GET",
    path: "/console/api/operator/accounts",
    access: "operator",
    summary: "Accounts, newest first, all or by id, name or a member's address",
    query: z.object({ ...pageQuery, text: z.string().min(1).max(200).optional() }),
    answer: operator.foundAccountPage,
  },
  readAccountAsOperator: {
    method: "GET",
    path: "/console/api/operator/accounts/:id",
    access: "operator",
    summary: "An account, its credit and its people",
    answer: operator.operatedAccount,
  },
  bookDeposit: {
    method: "POST",
    path: "/console/api/operator/accounts/:id/deposits",
    access: "operator",
    summary: "Book a deposit that was paid in another way, with a reason",
    body: operator.depositBody,
    status: 201,
    answer: operator.operatedAccount,
  },
  bookAdjustment: {
    method: "POST",
    path: "/console/api/operator/accounts/:id/adjustments",
    access: "operator",
    summary: "Add or remove credit, with a reason",
    body: operator.adjustmentBody,
    status: 201,
    answer: operator.operatedAccount,
  },
  suspendAccount: {
    method: "PATCH",
    path: "/console/api/operator/accounts/:id",
    access: "operator",
    summary: "Suspend an account, or lift its suspension, with a reason",
    body: operator.suspensionBody,
    answer: operator.operatedAccount,
  },
  readAuditAsOperator: {
    method: "GET",
    path: "/console/api/operator/accounts/:id/audit",
    access: "operator",
    summary: "The audit log of an account, newest first",
    query: z.object(pageQuery),
    answer: people.auditPage,
  },
  listRequestsAsOperator: {
    method: "GET",
    path: "/console/api/operator/accounts/:id/requests",
    access: "operator",
    summary: "The log of an account, newest first",
    query: requests.requestQuery,
    answer: requests.requestPage,
  },
  listKeysAsOperator: {
    method: "GET",
    path: "/console/api/operator/accounts/:id/keys",
    access: "operator",
    summary: "Keys of an account, newest first",
    query: z.object({ ...pageQuery, kind: account.keyKind.default("normal") }),
    answer: account.keyPage,
  },
  readLedgerAsOperator: {
    method: "GET",
    path: "/console/api/operator/accounts/:id/ledger",
    access: "operator",
    summary: "Changes of an account's balance, newest first",
    query: z.object({ ...pageQuery, ...ledgerFilter }),
    answer: account.ledgerPage,
  },
  readHealth: {
    method: "GET",
    path: "/console/api/operator/health",
    access: "operator",
    summary: "Routes that are not usual, and the attempts of all processes by provider",
    query: health.healthQuery,
    answer: health.routerHealth,
  },
  readMargins: {
    method: "GET",
    path: "/console/api/operator/margins",
    access: "operator",
    summary: "Charges, costs and losses of all accounts, by provider",
    query: health.marginQuery,
    answer: health.routerMargins,
  },
  listOpenRequests: {
    method: "GET",
    path: "/console/api/operator/requests",
    access: "operator",
    summary:
      "Requests of all accounts that hold credit now, oldest first, so that stuck requests are at the top",
    answer: router.openRequests,
  },
  readProviders: {
    method: "GET",
    path: "/console/api/operator/providers",
    access: "operator",
    summary: "Providers with their abilities, and the result of the last import of text models",
    answer: router.routerProviders,
  },
  listStatements: {
    method: "GET",
    path: "/console/api/operator/statements",
    access: "operator",
    summary: "Statements of providers, each with its last daily comparison with the books",
    answer: router.routerStatements,
  },
  previewCatalogue: {
    method: "POST",
    path: "/console/api/operator/catalogue/preview",
    access: "operator",
    summary: "Preview of the catalogue after its files and a fresh import; changes nothing",
    answer: router.catalogueChanges,
  },
});

export const consoleRoutes = {
  ...personRoutes,
  ...memberRoutes,
  ...accountRoutes,
  ...topUpRoutes,
  ...alertRoutes,
  ...operatorRoutes,
};
export type ConsoleRouteName = keyof typeof consoleRoutes;

type Part<Name extends ConsoleRouteName, Key extends "query" | "body" | "answer"> =
  (typeof consoleRoutes)[Name] extends Record<Key, infer Schema extends z.ZodType> ? Schema : never;

/** Requests and answers of each route. */
export type QueryOf<Name extends ConsoleRouteName> = z.input<Part<Name, "query">>;
export type BodyOf<Name extends ConsoleRouteName> = z.input<Part<Name, "body">>;
export type AnswerOf<Name extends ConsoleRouteName> = z.output<Part<Name, "answer">>;
