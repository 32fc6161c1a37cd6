// Passkeys owns the options for browsers and the checks of their answers. An answer must be for this address and this
// challenge, and the device must have recognized its user: a passkey replaces a password, so the device alone is not
// enough.
import { ServiceError } from "@gr/proto";
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from "@simplewebauthn/server";
import type { ConsoleConfig } from "../config.ts";
import type { Person } from "../people/people.ts";
import type { KnownPasskey, NewPasskey, Passkey } from "./passkey-store.ts";

/** EdDSA, ES256, RS256: every authenticator has one of them. */
const ALGORITHMS = [-8, -7, -257];
const NAME = "Generation Router";

export interface Passkeys {
  askForNew(
    person: Person,
    known: readonly Passkey[],
  ): Promise<{ options: PublicKeyCredentialCreationOptionsJSON; secrets: Readonly<Record<string, string>> }>;
  /** @throws ServiceError sign_in_refused */
  checkNew(answer: unknown, challenge: string): Promise<Omit<NewPasskey, "id" | "name">>;
  askForKnown(): Promise<{
    options: PublicKeyCredentialRequestOptionsJSON;
    secrets: Readonly<Record<string, string>>;
  }>;
  /** @returns the counter to keep. @throws ServiceError sign_in_refused */
  checkKnown(answer: unknown, challenge: string, known: KnownPasskey | undefined): Promise<number>;
}

/**
 * Returns undefined if switched off, or if browsers would refuse them: without TLS, and under an address that is no
 * name.
 */
export function createPasskeys({
  CONSOLE_URL: origin,
  CONSOLE_PASSKEYS,
}: ConsoleConfig): Passkeys | undefined {
  const { protocol, hostname } = new URL(origin);
  const isName = /[a-z]$/i.test(hostname) && !hostname.includes(":");
  const isSafe = protocol === "https:" || hostname === "localhost" || hostname.endsWith(".localhost");
  if (CONSOLE_PASSKEYS === "off" || !isName || !isSafe) return undefined;
  const expected = { expectedOrigin: origin, expectedRPID: hostname, requireUserVerification: true };
  return {
    askForNew: async ({ id, email, name }, known) => {
      const { generateRegistrationOptions } = await library();
      const options = await generateRegistrationOptions({
        rpName: NAME,
        rpID: hostname,
        userID: userHandleOf(id),
        userName: email,
        userDisplayName: name,
        attestationType: "none",
        supportedAlgorithmIDs: ALGORITHMS,
        authenticatorSelection: { residentKey: "required", userVerification: "required" },
        excludeCredentials: known.map(({ credentialId, transports }) => ({
          id: credentialId,
          transports: [...transports],
        })),
      });
      return { options, secrets: { challenge: options.challenge, person: id } };
    },
    checkNew: async (answer, challenge) => {
      const { verifyRegistrationResponse } = await library();
      const response = answer as RegistrationResponseJSON;
      const checks = { ...expected, expectedChallenge: challenge, supportedAlgorithmIDs: ALGORITHMS };
      const checked = await verifying(verifyRegistrationResponse({ response, ...checks }));
      if (!checked.verified) throw refusal();
      const { id, publicKey, counter, transports = [] } = checked.registrationInfo.credential;
      return { credentialId: id, publicKey, counter, transports };
    },
    askForKnown: async () => {
      const { generateAuthenticationOptions } = await library();
      const options = await generateAuthenticationOptions({ rpID: hostname, userVerification: "required" });
      return { options, secrets: { challenge: options.challenge } };
    },
    checkKnown: async (answer, challenge, known) => {
      const { verifyAuthenticationResponse } = await library();
      const response = answer as AuthenticationResponseJSON;
      if (known === undefined) throw refusal();
      const { publicKey, counter, person } = known;
      const handle = response.response.userHandle;
      if (handle !== undefined && handle !== Buffer.from(userHandleOf(person.id)).toString("base64url"))
        throw refusal();
      const credential = { id: response.id, publicKey: new Uint8Array(publicKey), counter };
      const checked = await verifying(
        verifyAuthenticationResponse({ response, ...expected, expectedChallenge: challenge, credential }),
      );
      if (!checked.verified) throw refusal();
      return checked.authenticationInfo.newCounter;
    },
  };
}

/** Loaded on demand: large, and only few processes of few people need it at once. */
const library = () => import("@simplewebauthn/server");

/** Returns the handle that an authenticator stores: no personal data. */
function userHandleOf(personId: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(personId.replaceAll("-", ""), "hex"));
}

/** Converts errors of the library: all of them concern the answer. */
async function verifying<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    throw refusal(cause);
  }
}

function refusal(cause?: unknown): ServiceError {
  const message = "This passkey opens nothing here; sign in in another way.";
  return new ServiceError("sign_in_refused", message, { cause });
}
