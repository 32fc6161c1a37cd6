// The issuer is an organization's OpenID Connect server for sign-ins. The authorization code flow has PKCE, state and
// nonce. An ID token counts if its signature, issuer, audience and nonce match. The issuer is called at a sign-in only,
// so a missing issuer does not prevent a start.
import { ServiceError } from "@gr/proto";
import { type Clock, OperatorError } from "@gr/runtime";
import * as client from "openid-client";
import type { ConsoleConfig } from "../config.ts";
import type { ConsoleEvents } from "../events.ts";

/** Seconds of one call. A sign-in may need four. */
const CALL_TIMEOUT_S = 4;
/** Age at which the issuer's metadata is read again; while the issuer is down, the old metadata counts. */
const READ_AGAIN_AFTER_MS = 3_600_000;
const SCOPE = "openid email profile";
/** Page of the application that the issuer sends people back to. */
const RETURN_PAGE = "/sign-in/oidc";

export interface Begun {
  /** Address of the issuer's page. */
  readonly url: string;
  /** Values that the answer must match. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** Identity of a person as claimed by the issuer. */
export interface IssuerClaims {
  readonly issuer: string;
  readonly subject: string;
  readonly email: string | undefined;
  readonly isEmailVerified: boolean;
  readonly name: string | undefined;
}

export interface Issuer {
  /** Name for people. */
  readonly name: string;
  /** Calls the issuer once, so that the log names a fault at the start. */
  lookUp(): Promise<void>;
  /** @throws ServiceError service_unavailable */
  begin(): Promise<Begun>;
  /**
   * @param answer query of the browser's return from the issuer
   * @throws ServiceError sign_in_refused, service_unavailable
   */
  finish(answer: string, secrets: Begun["secrets"]): Promise<IssuerClaims>;
}

export interface IssuerOptions {
  readonly config: ConsoleConfig;
  readonly events: Pick<ConsoleEvents, "issuerFailed">;
  readonly clock: Clock;
}

/** Returns undefined without issuer settings. @throws OperatorError if a part of them is missing */
export function createIssuer({ config, events, clock }: IssuerOptions): Issuer | undefined {
  const {
    CONSOLE_OIDC_ISSUER: url,
    CONSOLE_OIDC_CLIENT_ID: clientId,
    CONSOLE_OIDC_CLIENT_SECRET: clientSecret,
    CONSOLE_OIDC_NAME: name,
  } = config;
  const present = [url, clientId, clientSecret].filter((value) => value !== undefined).length;
  if (present !== 0 && present !== 3) {
    throw new OperatorError(
      "Set all of CONSOLE_OIDC_ISSUER, CONSOLE_OIDC_CLIENT_ID and CONSOLE_OIDC_CLIENT_SECRET, or none.",
    );
  }
  if (url === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const redirectUri = config.CONSOLE_URL + RETURN_PAGE;
  const asking = async <T>(answer: Promise<T>, refusal = (error: unknown) => refusalOf(error, name)) => {
    try {
      return await answer;
    } catch (error) {
      const refused = refusal(error);
      const outcome = refused.reason === "service_unavailable" ? "away" : "not_believed";
      events.issuerFailed(url, outcome, problemOf(error));
      throw refused;
    }
  };
  const discover = () => discoverIssuer(new URL(url), clientId, clientSecret);
  let known: { readonly config: client.Configuration; readonly until: number } | undefined;
  const read = async (): Promise<client.Configuration> => {
    if (known !== undefined && clock.now() < known.until) return known.config;
    const before = known?.config;
    const found = await asking(discover(), (error) => awayOf(error, name)).catch((error: unknown) => {
      if (before === undefined) throw error;
      return before;
    });
    known = { config: found, until: clock.now() + READ_AGAIN_AFTER_MS };
    return found;
  };
  return {
    name,
    lookUp: async () => {
      await read().catch(() => undefined);
    },
    begin: async () => {
      const secrets = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      };
      const address = client.buildAuthorizationUrl(await read(), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        response_type: "code",
        state: secrets.state,
        nonce: secrets.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(secrets.verifier),
        code_challenge_method: "S256",
      });
      return { url: address.href, secrets };
    },
    finish: async (answer, secrets) => {
      const issuer = await read();
      const { state = "", nonce = "", verifier = "" } = secrets;
      const checks = {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      };
      const address = new URL(redirectUri);
      address.search = answer;
      return asking(claimsOf(issuer, await asking(client.authorizationCodeGrant(issuer, address, checks))));
    },
  };
}

function discoverIssuer(url: URL, clientId: string, clientSecret: string): Promise<client.Configuration> {
  const [post, basic] = [client.ClientSecretPost(clientSecret), client.ClientSecretBasic(clientSecret)];
  // In the body if the issuer accepts that: servers differ in the encoding of a secret in a header.
  const authenticate: client.ClientAuth = (server, ...rest) =>
    (server.token_endpoint_auth_methods_supported?.includes("client_secret_post") ? post : basic)(
      server,
      ...rest,
    );
  return client.discovery(url, clientId, {}, authenticate, {
    timeout: CALL_TIMEOUT_S,
    // Plain HTTP is accepted on this machine only; the settings see to that.
    execute: [
      client.enableNonRepudiationChecks,
      ...(url.protocol === "http:" ? [client.allowInsecureRequests] : []),
    ],
  });
}

type Tokens = Awaited<ReturnType<typeof client.authorizationCodeGrant>>;

/** Returns the claims. Some issuers put the address into the ID token, others only into the userinfo answer. */
async function claimsOf(issuer: client.Configuration, tokens: Tokens): Promise<IssuerClaims> {
  const token = tokens.claims();
  if (token === undefined) throw new Error("the answer has no ID token");
  const asked = token["email"] === undefined && issuer.serverMetadata().userinfo_endpoint !== undefined;
  const profile = asked ? await client.fetchUserInfo(issuer, tokens.access_token, token.sub) : token;
  const { email, name, email_verified: verified } = profile;
  return {
    issuer: token.iss,
    subject: token.sub,
    email: typeof email === "string" ? email : undefined,
    // Some issuers send it as text.
    isEmailVerified: verified === true || verified === "true",
    name: typeof name === "string" ? name : undefined,
  };
}

/** Codes of an invalid answer: of a proxy, or of a broken issuer. */
const AWAY = new Set(["OAUTH_TIMEOUT", "OAUTH_RESPONSE_IS_NOT_CONFORM", "OAUTH_RESPONSE_IS_NOT_JSON"]);

function refusalOf(error: unknown, name: string): ServiceError {
  const { code = "" } = error as { code?: string };
  // Error of fetch if no server answers.
  if (AWAY.has(code) || (error instanceof TypeError && code === "")) return awayOf(error, name);
  const message =
    error instanceof client.AuthorizationResponseError && error.error === "access_denied"
      ? `${name} has not let you in.`
      : `The answer of ${name} does not prove your identity; sign in again.`;
  return new ServiceError("sign_in_refused", message, { cause: error });
}

function awayOf(cause: unknown, name: string): ServiceError {
  const message = `${name} does not answer now; try again in a moment.`;
  return new ServiceError("service_unavailable", message, { cause });
}

/** Returns the problem for the log, without the content of answers. */
function problemOf(error: unknown): string {
  const {
    message,
    code,
    error: profile,
    cause,
  } = error as {
    readonly message?: string;
    readonly code?: string;
    readonly error?: string;
    readonly cause?: { readonly code?: unknown };
  };
  const parts = [message, code, profile, cause?.code];
  return [...new Set(parts.filter((part) => typeof part === "string" && part !== ""))].join(", ");
}
