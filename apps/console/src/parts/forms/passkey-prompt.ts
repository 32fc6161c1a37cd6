// The browser's own dialog for passkeys, which it shows when a page asks for one.
import type { AnswerOf, BodyOf } from "@gr/console-api";
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from "@simplewebauthn/browser";

type Options = AnswerOf<"beginPasskey">["options"];
export type PasskeyAnswer = BodyOf<"finishPasskeySignIn">["passkey"];

/** Shown as it is. */
export class NoPasskey extends Error {}

/** Loaded on demand: most people never need it. */
const library = () => import("@simplewebauthn/browser");

/** @throws NoPasskey if the person cancels, or the browser cannot */
export async function createPasskey(options: Options): Promise<PasskeyAnswer> {
  const { startRegistration } = await library();
  const optionsJSON = options as unknown as PublicKeyCredentialCreationOptionsJSON;
  return answered(
    startRegistration({ optionsJSON }),
    "No passkey was created. This device may already have one of yours.",
  );
}

/** @throws NoPasskey if the person cancels, or the browser cannot */
export async function usePasskey(options: Options): Promise<PasskeyAnswer> {
  const { startAuthentication } = await library();
  const optionsJSON = options as unknown as PublicKeyCredentialRequestOptionsJSON;
  return answered(
    startAuthentication({ optionsJSON }),
    "No passkey was used. This device may have none of yours.",
  );
}

async function answered(answer: Promise<object>, otherwise: string): Promise<PasskeyAnswer> {
  try {
    return (await answer) as PasskeyAnswer;
  } catch (cause) {
    // Browsers hide which of the two it was, so that a page learns nothing.
    throw new NoPasskey(otherwise, { cause });
  }
}
