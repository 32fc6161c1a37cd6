// Issuer routes sign people in at the issuer, in two halves: the address of its page, and its answer.
// The page posts the answer, so the check for cross-site requests, the cookies and the errors are those of every other
// sign-in.
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { type Handlers, signedInOf } from "../../door/console-call.ts";
import { recordPersonalAudit } from "../audit.ts";
import { admitIdentity } from "./admit-identity.ts";
import { beginSession } from "./session-state.ts";

type IssuerRoutes = Handlers<"beginOidc" | "finishOidc" | "listIdentities" | "removeIdentity">;

export function issuerRoutes(deps: ConsoleDeps): IssuerRoutes {
  const { issuer, signIns, challenges, attempts, people, mailer, config } = deps;
  const issuerOf = () => {
    if (issuer !== undefined) return issuer;
    throw new ServiceError("sign_in_refused", "Here people sign in by e-mail address and password.");
  };
  return {
    beginOidc: async ({ network, reply }) => {
      const asked = issuerOf();
      await attempts.countSignIn(network);
      const { url, secrets } = await asked.begin();
      await challenges.begin(reply, "oidc", secrets);
      return { url };
    },
    finishOidc: async (call) => {
      const { headers, reply, network, body } = call;
      const asked = issuerOf();
      const claims = await asked.finish(body.answer, await challenges.claim(headers, reply, "oidc"));
      const { person, linked } = await admitIdentity(deps, asked.name, claims);
      if (linked !== "no") {
        const detail = { issuer: claims.issuer };
        await recordPersonalAudit(deps, person, network, { action: "identity.linked", detail });
      }
      if (linked === "to a known person" && mailer.sends) {
        await attempts.countNotice(person.email);
        mailer.send({
          to: person.email,
          subject: `You can sign in with ${asked.name} now`,
          text: "A person, probably you, has signed in there with your address. If it was not you, write to the operator of the router.",
          link: config.CONSOLE_URL,
        });
      }
      return beginSession(deps, { headers, reply }, "issuer", people.signInAs(headers, person.email));
    },
    listIdentities: async (call) => {
      const found = await signIns.identitiesOf(signedInOf(call).person.id);
      return {
        data: found.map(({ id, issuer: at, createdAt, lastUsedAt }) => ({
          id,
          issuer: at,
          created_at: createdAt.toISOString(),
          last_used_at: lastUsedAt.toISOString(),
        })),
      };
    },
    removeIdentity: async (call) => {
      const { person } = signedInOf(call);
      const { id = "" } = call.params;
      // As with sessions: an absent identity counts as removed.
      if (!isUuid(id) || !(await signIns.removeIdentity(person.id, id))) return undefined;
      await recordPersonalAudit(deps, person, call.network, { action: "identity.removed", subject: id });
      return undefined;
    },
  };
}
