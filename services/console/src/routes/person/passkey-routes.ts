// Passkey routes manage a person's passkeys and sign in with one.
// A new passkey is as powerful as a password, so it needs a fresh session. The person gets a mail, and the audit log of
// their accounts gets a line.
import { randomUUID } from "node:crypto";
import { ServiceError } from "@gr/proto";
import { isUuid } from "@gr/runtime";
import type { ConsoleDeps } from "../../console-deps.ts";
import { type Handlers, signedInOf } from "../../door/console-call.ts";
import type { Passkey } from "../../sign-in/passkey-store.ts";
import { recordPersonalAudit } from "../audit.ts";
import { beginSession, requireFreshSession } from "./session-state.ts";

const MOST = 20;

type PasskeyRoutes = Handlers<
  | "beginPasskeySignIn"
  | "finishPasskeySignIn"
  | "listPasskeys"
  | "beginPasskey"
  | "addPasskey"
  | "renamePasskey"
  | "removePasskey"
>;

export function passkeyRoutes(deps: ConsoleDeps): PasskeyRoutes {
  const { passkeys, passkeyStore, challenges, attempts, people, mailer, clock, config } = deps;
  const offered = () => {
    if (passkeys !== undefined) return passkeys;
    throw new ServiceError("sign_in_refused", "There are no passkeys here.");
  };
  return {
    beginPasskeySignIn: async ({ network, reply }) => {
      const asked = offered();
      await attempts.countSignIn(network);
      const { options, secrets } = await asked.askForKnown();
      await challenges.begin(reply, "passkey", secrets);
      return { options: { ...options } };
    },
    finishPasskeySignIn: async ({ headers, reply, body: { passkey } }) => {
      const asked = offered();
      const { challenge = "" } = await challenges.claim(headers, reply, "passkey");
      const known = await passkeyStore.findPasskey(passkey.id);
      const counter = await asked.checkKnown(passkey, challenge, known);
      if (known === undefined) throw new Error("a passkey that nobody has was accepted");
      await passkeyStore.notePasskeyUse(known.id, counter);
      return beginSession(deps, { headers, reply }, "passkey", people.signInAs(headers, known.person.email));
    },
    listPasskeys: async (call) => {
      const found = await passkeyStore.passkeysOf(signedInOf(call).person.id);
      return { data: found.map(passkeyRecord) };
    },
    beginPasskey: async (call) => {
      const signedIn = signedInOf(call);
      const { person } = signedIn;
      const asked = offered();
      requireFreshSession(signedIn, clock.now(), "a passkey is added");
      const { options, secrets } = await asked.askForNew(person, await passkeyStore.passkeysOf(person.id));
      await challenges.begin(call.reply, "new passkey", secrets);
      return { options: { ...options } };
    },
    addPasskey: async (call) => {
      const { person } = signedInOf(call);
      const { headers, reply, body } = call;
      await attempts.countNotice(person.email);
      const begun = await challenges.claim(headers, reply, "new passkey");
      if (begun["person"] !== person.id) {
        throw new ServiceError("sign_in_expired", "Another person has begun this step; start again.");
      }
      const checked = await offered().checkNew(body.passkey, begun["challenge"] ?? "");
      const added = await passkeyStore.addPasskey(
        person.id,
        { ...checked, id: randomUUID(), name: body.name },
        MOST,
      );
      if (added === undefined) {
        const message = `It is in use already, or you have ${MOST} passkeys; remove one first.`;
        throw new ServiceError("invalid_value", message, { param: "passkey" });
      }
      const detail = { name: body.name };
      await recordPersonalAudit(deps, person, call.network, {
        action: "passkey.added",
        subject: added.id,
        detail,
      });
      if (mailer.sends) {
        mailer.send({
          to: person.email,
          subject: "A passkey opens your console now",
          text: `Somebody, probably you, has added "${body.name}". If not, remove it on your page and set a new password.`,
          link: config.CONSOLE_URL,
        });
      }
      return passkeyRecord(added);
    },
    renamePasskey: async (call) => {
      const { id = "" } = call.params;
      const { name } = call.body;
      const { person } = signedInOf(call);
      const renamed = isUuid(id) ? await passkeyStore.renamePasskey(person.id, id, name) : undefined;
      if (renamed === undefined) throw noPasskey();
      const event = { action: "passkey.renamed", subject: renamed.id, detail: { name } };
      await recordPersonalAudit(deps, person, call.network, event);
      return passkeyRecord(renamed);
    },
    removePasskey: async (call) => {
      const { id = "" } = call.params;
      const { person } = signedInOf(call);
      const name = isUuid(id) ? await passkeyStore.removePasskey(person.id, id) : undefined;
      if (name === undefined) throw noPasskey();
      const event = { action: "passkey.removed", subject: id, detail: { name } };
      await recordPersonalAudit(deps, person, call.network, event);
      return undefined;
    },
  };
}

function noPasskey(): ServiceError {
  return new ServiceError("passkey_not_found", "The passkey does not exist, or it is not yours.", {
    param: "id",
  });
}

function passkeyRecord({ id, name, createdAt, lastUsedAt }: Passkey) {
  const last_used_at = lastUsedAt?.toISOString() ?? null;
  return { id, name, created_at: createdAt.toISOString(), last_used_at };
}
