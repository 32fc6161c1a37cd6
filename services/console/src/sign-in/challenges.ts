// Challenges connect two requests of a browser. The browser has a token in a cookie that no script and no other site
// can use; the server has the expected answer. Only the first request that claims a challenge gets it.
import { ServiceError } from "@gr/proto";
import type { FastifyReply } from "fastify";
import { setCookies } from "../door/console-call.ts";
import { createToken, digestOfToken } from "../people/invitation-token.ts";
import type { ChallengePurpose, SignInStore } from "./sign-in-store.ts";

const LASTS_MS = 600_000;

export interface Challenges {
  begin(
    reply: FastifyReply,
    purpose: ChallengePurpose,
    secrets: Readonly<Record<string, string>>,
  ): Promise<void>;
  /** Claims the challenge, once. @throws ServiceError sign_in_expired */
  claim(
    headers: Headers,
    reply: FastifyReply,
    purpose: ChallengePurpose,
  ): Promise<Readonly<Record<string, string>>>;
}

/** @param origin of the console */
export function createChallenges(store: SignInStore, origin: string): Challenges {
  const isSecure = origin.startsWith("https:");
  const name = isSecure ? "__Host-gr_challenge" : "gr_challenge";
  const cookie = (token: string, seconds: number) =>
    `${name}=${token}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
  return {
    begin: async (reply, purpose, secrets) => {
      const token = createToken();
      await store.addChallenge({ tokenDigest: digestOfToken(token), purpose, secrets, lastsMs: LASTS_MS });
      setCookies(reply, [cookie(token, LASTS_MS / 1_000)]);
    },
    claim: async (headers, reply, purpose) => {
      const token = cookieOf(headers, name);
      setCookies(reply, [cookie("", 0)]);
      const secrets =
        token === undefined ? undefined : await store.claimChallenge(digestOfToken(token), purpose);
      if (secrets !== undefined) return secrets;
      const message =
        "This step was begun in another browser, has expired, or is complete already; start again.";
      throw new ServiceError("sign_in_expired", message);
    },
  };
}

function cookieOf(headers: Headers, name: string): string | undefined {
  for (const pair of (headers.get("cookie") ?? "").split(";")) {
    const [key = "", value = ""] = pair.trim().split("=", 2);
    if (key === name && value !== "") return value;
  }
  return undefined;
}
