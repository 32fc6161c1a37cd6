// Sign-up, sign-in and sessions. Answers tell a stranger nothing about which addresses are known.
import { ServiceError } from "@gr/proto";
import { recordDeed } from "./audit.ts";
import { type Handlers, setCookies, signedInOf } from "./console-call.ts";
import type { ConsoleDeps } from "./console-deps.ts";
import { digestOfToken } from "./invitation-token.ts";
import { beginSession, stateOf } from "./sign-in/session-state.ts";

type PersonRoutes = Handlers<
  | "readSession"
  | "signUp"
  | "sendVerification"
  | "verifyEmail"
  | "signIn"
  | "signInByLink"
  | "signOut"
  | "askPasswordReset"
  | "resetPassword"
  | "changePassword"
  | "listSessions"
  | "endSession"
  | "endOtherSessions"
  | "createAccount"
  | "acceptInvitation"
>;

export function personRoutes(deps: ConsoleDeps): PersonRoutes {
  const { people, attempts, store, keys, config } = deps;
  const requireOpen = () => {
    if (config.CONSOLE_SIGN_UP === "open") return;
    throw new ServiceError("sign_up_closed", "People and accounts are made by the operator here.");
  };
  return {
    readSession: ({ signedIn }) => stateOf(deps, signedIn?.person),
    signUp: async ({ headers, network, body }) => {
      // Whoever was invited may sign up, too; a stranger cannot tell the two apart but by being refused.
      if (config.CONSOLE_SIGN_UP === "closed" && !(await store.isInvited(body.email))) requireOpen();
      await attempts.countMail(body.email, network);
      await people.signUp(headers, body);
      return undefined;
    },
    sendVerification: async ({ network, body: { email } }) => {
      await attempts.countMail(email, network);
      await people.sendVerification(email);
      return undefined;
    },
    verifyEmail: async ({ headers, body, reply }) =>
      beginSession(deps, { headers, reply }, "link", people.verifyEmail(headers, body.token)),
    signIn: async ({ headers, network, body, reply }) => {
      const check = () => people.signIn(headers, body);
      return beginSession(
        deps,
        { headers, reply },
        "password",
        attempts.guardPassword(body.email, network, check),
      );
    },
    signInByLink: async ({ headers, body, reply }) =>
      beginSession(deps, { headers, reply }, "link", people.signInByLink(headers, body.token)),
    signOut: async ({ headers, signedIn, reply }) => {
      if (signedIn !== undefined) setCookies(reply, (await people.signOut(headers)).cookies);
      return undefined;
    },
    askPasswordReset: async ({ network, body: { email } }) => {
      await attempts.countMail(email, network);
      await people.askPasswordReset(email);
      return undefined;
    },
    resetPassword: async ({ body: { token, password } }) => {
      await people.resetPassword(token, password);
      return undefined;
    },
    changePassword: async (call) => {
      const { headers, network, body, reply } = call;
      const { email } = signedInOf(call).person;
      const change = () => people.changePassword(headers, body.current_password, body.new_password);
      setCookies(reply, (await attempts.guardPassword(email, network, change)).cookies);
      return undefined;
    },
    listSessions: async (call) => {
      const { sessionId } = signedInOf(call);
      const found = await people.listSessions(call.headers);
      return {
        data: found.map(({ id, createdAt, lastUsedAt, expiresAt, address, userAgent }) => ({
          id,
          created_at: createdAt.toISOString(),
          last_used_at: lastUsedAt.toISOString(),
          expires_at: expiresAt.toISOString(),
          address,
          user_agent: userAgent,
          is_current: id === sessionId,
        })),
      };
    },
    endSession: async ({ headers, params }) => {
      await people.endSession(headers, params["id"] ?? "");
      return undefined;
    },
    endOtherSessions: async ({ headers }) => {
      await people.endOtherSessions(headers);
      return undefined;
    },
    createAccount: async (call) => {
      requireOpen();
      const { person } = signedInOf(call);
      await attempts.countAccount(person.id);
      const { accountId } = await keys.createAccount({ name: call.body.name });
      await store.addAccount(accountId, call.body.name);
      await store.addMember(accountId, person.id, "owner");
      await recordDeed(deps, call, { action: "account.created", subject: accountId }, accountId);
      return { account_id: accountId, account_name: call.body.name, role: "owner" };
    },
    acceptInvitation: async (call) => {
      const { id, email } = signedInOf(call).person;
      const joined = await store.acceptInvitation(digestOfToken(call.body.token), { personId: id, email });
      if (joined === undefined) {
        const message = `This invitation is not valid any more, or is for another address than ${email}.`;
        throw new ServiceError("invalid_link", message);
      }
      await recordDeed(deps, call, { action: "member.joined", subject: id }, joined.account_id);
      return joined;
    },
  };
}
