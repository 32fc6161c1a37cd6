// Person routes serve sign-up, sign-in and sessions. Answers do not reveal to a stranger if an address is registered.
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { type Handlers, setCookies, signedInOf } from "../../door/console-call.ts";
import { digestOfToken } from "../../people/invitation-token.ts";
import type { Person } from "../../people/people.ts";
import { recordAudit, recordPersonalAudit } from "../audit.ts";
import { beginSession, requireFreshSession, stateOf } from "./session-state.ts";

type PersonRoutes = Handlers<
  | "readSession"
  | "signUp"
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
  | "readInvitation"
  | "joinByInvitation"
  | "acceptInvitation"
  | "acceptWaitingInvitation"
  | "declineInvitation"
>;

const notValidFor = (email: string) =>
  `This invitation is not valid any more, or is for another address than ${email}.`;
const notWaiting = (email: string) =>
  new ServiceError("invitation_not_found", notValidFor(email), { param: "id" });

export function personRoutes(deps: ConsoleDeps): PersonRoutes {
  const { people, attempts, store, keys, config, clock } = deps;
  const requireOpen = () => {
    if (config.CONSOLE_SIGN_UP === "open") return;
    throw new ServiceError("sign_up_closed", "Only the operator creates people and accounts on this router.");
  };
  const findInvitation = async (token: string) => {
    const found = await store.findInvitation(digestOfToken(token));
    if (found === undefined) {
      throw new ServiceError("invalid_link", "This invitation is not valid any more; ask for a new one.");
    }
    // The inviter may have the link, and must not become the person of a foreign address.
    return { ...found, isForNewPerson: found.isMailed && !(await people.isVerified(found.email)) };
  };
  const joinAs = async ({ id, email }: Person, invitation: Buffer | string, network: string) => {
    const isOfLink = typeof invitation !== "string";
    const joined =
      isOfLink || isUuid(invitation)
        ? await store.acceptInvitation(invitation, { personId: id, email })
        : undefined;
    if (joined === undefined) {
      if (isOfLink) throw new ServiceError("invalid_link", notValidFor(email));
      throw notWaiting(email);
    }
    const event = { actor: email, action: "member.joined", subject: id, detail: {}, address: network };
    await store.audit({ accountId: joined.account_id, ...event });
    return joined;
  };
  return {
    readSession: ({ signedIn }) => stateOf(deps, signedIn?.person),
    signUp: async ({ network, body: { email } }) => {
      if (!(await attempts.mayMail({ email, network }))) return undefined;
      const isInvited = await store.isInvited(email);
      await people.sendPasswordLink(email, isInvited || config.CONSOLE_SIGN_UP === "open");
      return undefined;
    },
    verifyEmail: async ({ headers, body: { token, ...first }, reply }) =>
      beginSession(deps, { headers, reply }, "link", people.verifyEmail(headers, token, first)),
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
      if (await attempts.mayMail({ email, network })) await people.sendPasswordLink(email, false);
      return undefined;
    },
    resetPassword: async ({ body: { token, password } }) => {
      await people.resetPassword(token, password);
      return undefined;
    },
    changePassword: async (call) => {
      const { headers, network, body, reply } = call;
      const { current_password: current, new_password: next } = body;
      const signedIn = signedInOf(call);
      const { email } = signedIn.person;
      if (current === null) {
        requireFreshSession(signedIn, clock.now(), "a first password is set");
        await attempts.countNotice(email);
        await attempts.guardPassword(email, network, () => people.setPassword(headers, next));
        await recordPersonalAudit(deps, signedIn.person, network, { action: "password.set" });
        if (deps.mailer.sends) {
          deps.mailer.send({
            to: email,
            subject: "A password opens your console now",
            text: "Somebody, probably you, has set a first password. If not, set a new one.",
            link: `${config.CONSOLE_URL}/forgot-password`,
          });
        }
        return undefined;
      }
      const change = () => people.changePassword(headers, current, next);
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
      await recordAudit(deps, call, { action: "account.created", subject: accountId }, accountId);
      return { account_id: accountId, account_name: call.body.name, role: "owner" };
    },
    readInvitation: async ({ body }) => {
      const { email, role, invitedBy, accountName, isForNewPerson } = await findInvitation(body.token);
      return {
        email,
        account_name: accountName,
        role,
        invited_by: invitedBy,
        is_for_new_person: isForNewPerson,
      };
    },
    joinByInvitation: async (call) => {
      const { headers, reply, network, body } = call;
      const { token, ...first } = body;
      const { email, isForNewPerson } = await findInvitation(token);
      if (!isForNewPerson) {
        throw new ServiceError("invalid_link", `Sign in, or sign up, as ${email}; then open the link again.`);
      }
      const { cookies } = await people.join(headers, { email, ...first });
      await joinAs(await people.findOrMake(email, first.name), digestOfToken(token), network);
      return beginSession(deps, { headers, reply }, "link", Promise.resolve({ value: undefined, cookies }));
    },
    acceptInvitation: (call) => joinAs(signedInOf(call).person, digestOfToken(call.body.token), call.network),
    acceptWaitingInvitation: (call) => joinAs(signedInOf(call).person, call.params["id"] ?? "", call.network),
    declineInvitation: async (call) => {
      const { email } = signedInOf(call).person;
      const id = call.params["id"] ?? "";
      const accountId = isUuid(id) ? await store.declineInvitation(id, email) : undefined;
      if (accountId === undefined) throw notWaiting(email);
      await recordAudit(deps, call, { action: "invitation.declined", subject: id }, accountId);
      return undefined;
    },
  };
}
