// An OpenID Connect issuer on a port of its own: a real one (oidc-provider), with people of a test, and answers
// that the test can forge like an attacker.
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Configuration } from "oidc-provider";

const CLIENT_ID = "the-console";
const KEY_ID = "now";
const LASTS_S = 600;

/** Warnings of the library without news for a test: Node is newer than its list, and its store is in memory. */
const EXPECTED_WARNING =
  /oidc-provider WARNING: (Unsupported runtime|a quick start development-only in-memory adapter)/;
const { warn } = console;

/** Runs an action of the library without the expected warnings. */
async function quietly<Result>(action: () => Result | Promise<Result>): Promise<Result> {
  console.warn = (...words: unknown[]) => {
    if (!EXPECTED_WARNING.test(String(words[0]))) warn(...words);
  };
  try {
    return await action();
  } finally {
    console.warn = warn;
  }
}

const { default: Provider } = await quietly(() => import("oidc-provider"));

export interface IssuerPerson {
  readonly email?: string;
  readonly email_verified?: boolean | string;
  readonly name?: string;
}

export interface SpoiledToken {
  /** Claims instead of the right ones. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Key of another signer. */
  readonly key?: KeyObject;
}

export const strangersKey = (): KeyObject => rsaKey();

export class TestIssuer {
  /** By subject. */
  readonly people = new Map<string, IssuerPerson>();
  /** Subject of the person at the browser; undefined = the person refuses. */
  subject: string | undefined;
  /** Forged parts of ID tokens. */
  spoiled: SpoiledToken | undefined;
  /** While true, every answer is 502. */
  isDown = false;
  readonly clientSecret = randomBytes(24).toString("base64url");
  readonly #key = rsaKey();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  #provider: InstanceType<typeof Provider> | undefined;

  /** @param origin of the console that sends people here */
  static async start(origin: string): Promise<TestIssuer> {
    const issuer = new TestIssuer();
    await new Promise<void>((resolve) => issuer.#server.listen(0, "127.0.0.1", resolve));
    const configuration = issuer.#configuration(`${origin}/sign-in/oidc`);
    issuer.#provider = await quietly(() => new Provider(issuer.url, configuration));
    return issuer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Settings of a router that uses it. */
  get env(): Record<string, string> {
    return {
      CONSOLE_OIDC_ISSUER: this.url,
      CONSOLE_OIDC_CLIENT_ID: CLIENT_ID,
      CONSOLE_OIDC_CLIENT_SECRET: this.clientSecret,
      CONSOLE_OIDC_NAME: "Example Inc.",
    };
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  /**
   * Walks from the issuer's page back to the console, like a browser of this person without a session at the issuer.
   * @returns the query at its return
   */
  async walk(url: string, subject: string | undefined): Promise<string> {
    this.subject = subject;
    const cookies = new Map<string, string>();
    for (let next = new URL(url); ; ) {
      if (next.origin !== this.url) return next.search.slice(1);
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
      const answer = await fetch(next, { redirect: "manual", headers: { cookie } });
      for (const line of answer.headers.getSetCookie()) {
        const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        cookies.set(name, value);
      }
      const to = answer.headers.get("location");
      if (to === null) throw new Error(`the issuer answered ${answer.status}: ${await answer.text()}`);
      next = new URL(to, next);
    }
  }

  #configuration(redirectUri: string): Configuration {
    return {
      clients: [
        {
          client_id: CLIENT_ID,
          client_secret: this.clientSecret,
          redirect_uris: [redirectUri],
          token_endpoint_auth_method: "client_secret_post",
        },
      ],
      jwks: { keys: [{ ...this.#key.export({ format: "jwk" }), kid: KEY_ID, use: "sig", alg: "RS256" }] },
      cookies: { keys: ["for tests only"] },
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      ttl: { Interaction: LASTS_S, Session: LASTS_S, Grant: LASTS_S, IdToken: LASTS_S, AccessToken: LASTS_S },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      findAccount: (_context, id) => ({ accountId: id, claims: () => ({ sub: id, ...this.people.get(id) }) }),
      // The consent page is skipped.
      loadExistingGrant: async ({ oidc }) => {
        const accountId = oidc.session?.accountId;
        const grant = new oidc.provider.Grant({ clientId: CLIENT_ID, ...(accountId && { accountId }) });
        grant.addOIDCScope("openid email profile");
        await grant.save();
        return grant;
      },
    };
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#provider === undefined || this.isDown) {
      response.writeHead(502, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>");
      return;
    }
    if (request.url?.startsWith("/interaction/")) {
      const result =
        this.subject === undefined
          ? { error: "access_denied", error_description: "they did not want to" }
          : { login: { accountId: this.subject } };
      await this.#provider.interactionFinished(request, response, result);
      return;
    }
    if (request.url === "/token") this.#spoil(response);
    await this.#provider.callback()(request, response);
  }

  #spoil(response: ServerResponse): void {
    if (this.spoiled === undefined) return;
    const { claims, key = this.#key } = this.spoiled;
    const end = response.end.bind(response) as (text: string) => ServerResponse;
    response.end = ((text: string | Buffer) => {
      const answer = JSON.parse(String(text)) as { id_token?: string };
      if (answer.id_token !== undefined) answer.id_token = resigned(answer.id_token, claims, key);
      const spoiled = JSON.stringify(answer);
      response.setHeader("content-length", Buffer.byteLength(spoiled));
      return end(spoiled);
    }) as typeof response.end;
  }
}

function resigned(token: string, claims: object | undefined, key: KeyObject): string {
  const [head = "", body = ""] = token.split(".");
  const right = JSON.parse(Buffer.from(body, "base64url").toString()) as object;
  const text = `${head}.${Buffer.from(JSON.stringify({ ...right, ...claims })).toString("base64url")}`;
  return `${text}.${sign("sha256", Buffer.from(text), key).toString("base64url")}`;
}

function rsaKey(): KeyObject {
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}
