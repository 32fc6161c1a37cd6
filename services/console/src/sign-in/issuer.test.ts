// Guarantees of the issuer's answers: accepted only if all of it fits; against a real issuer, over HTTP.
import { systemClock } from "@gr/runtime";
import { type SpoiledToken, strangersKey, TestIssuer } from "@gr/testing/test-issuer";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { consoleConfig } from "../config.ts";
import { createIssuer, type Issuer } from "./issuer.ts";

const ORIGIN = "http://localhost:1";
let provider: TestIssuer;
let problems: string[];

const settings = (env: Record<string, string>) =>
  consoleConfig.parse({
    DATABASE_URL: "postgres://nobody@localhost/x",
    CONSOLE_URL: ORIGIN,
    CONSOLE_SECRET: "s".repeat(32),
    ...env,
  });
const issuerOf = (env: Record<string, string> = provider.env): Issuer => {
  const events = { issuerFailed: (_issuer: string, outcome: string) => void problems.push(outcome) };
  const created = createIssuer({ config: settings(env), events, clock: systemClock });
  if (created === undefined) throw new Error("there is no issuer");
  return created;
};

beforeAll(async () => {
  provider = await TestIssuer.start(ORIGIN);
  provider.people.set("ann", { email: "ann@example.com", email_verified: true, name: "Ann" });
});
beforeEach(() => {
  problems = [];
  provider.spoiled = undefined;
});
afterAll(() => provider?.close());

test("tells who has signed in there, with an address that it has verified", async () => {
  const issuer = issuerOf();
  const { url, secrets } = await issuer.begin();
  const query = new URL(url).searchParams;
  expect(Object.fromEntries(query)).toMatchObject({ code_challenge_method: "S256", response_type: "code" });
  expect(query.get("redirect_uri")).toBe(`${ORIGIN}/sign-in/oidc`);
  expect(await issuer.finish(await provider.walk(url, "ann"), secrets)).toEqual({
    issuer: provider.url,
    subject: "ann",
    email: "ann@example.com",
    isEmailVerified: true,
    name: "Ann",
  });
});

const spoiled: readonly [string, () => SpoiledToken][] = [
  ["for another audience", () => ({ claims: { aud: "somebody-else" } })],
  ["of another issuer", () => ({ claims: { iss: "https://evil.example" } })],
  ["for another sign-in", () => ({ claims: { nonce: "another" } })],
  ["that has expired", () => ({ claims: { iat: 1, exp: 2 } })],
  ["that somebody else has signed", () => ({ key: strangersKey() })],
];
test.each(spoiled)("believes no token %s", async (_what, spoil) => {
  const issuer = issuerOf();
  const { url, secrets } = await issuer.begin();
  const answer = await provider.walk(url, "ann");
  provider.spoiled = spoil();
  await expect(issuer.finish(answer, secrets)).rejects.toMatchObject({ reason: "sign_in_refused" });
  expect(problems).toEqual(["not_believed"]);
});

test("believes no answer to another question, and no code without its verifier", async () => {
  const issuer = issuerOf();
  const [mine, theirs] = [await issuer.begin(), await issuer.begin()];
  const refused = { reason: "sign_in_refused" };
  const answer = await provider.walk(theirs.url, "ann");
  await expect(issuer.finish(answer, mine.secrets)).rejects.toMatchObject(refused);
  const other = { ...theirs.secrets, verifier: mine.secrets["verifier"] ?? "" };
  await expect(issuer.finish(answer, other)).rejects.toMatchObject(refused);
  await expect(issuer.finish("state=x", mine.secrets)).rejects.toMatchObject(refused);
});

test("who is refused there hears so", async () => {
  const issuer = issuerOf();
  const { url, secrets } = await issuer.begin();
  const answer = await provider.walk(url, undefined);
  await expect(issuer.finish(answer, secrets)).rejects.toThrow("Example Inc. has not let you in.");
});

test("one that is away is said in a line of the log, and asked again when somebody signs in", async () => {
  const issuer = issuerOf();
  provider.isDown = true;
  await issuer.lookUp();
  expect(problems).toEqual(["away"]);
  await expect(issuer.begin()).rejects.toMatchObject({
    reason: "service_unavailable",
    message: "Example Inc. does not answer now; try again in a moment.",
  });
  provider.isDown = false;
  const { url, secrets } = await issuer.begin();
  const answer = await provider.walk(url, "ann");
  provider.isDown = true;
  const away = issuer.finish(answer, secrets);
  await expect(away).rejects.toMatchObject({ reason: "service_unavailable" });
  provider.isDown = false;
});

test("half of the settings is refused, and so is one that is asked over the open network without TLS", () => {
  const { CONSOLE_OIDC_CLIENT_SECRET: _, ...half } = provider.env;
  expect(() => issuerOf(half)).toThrow("or none");
  expect(() => settings({ ...provider.env, CONSOLE_OIDC_ISSUER: "http://issuer.example" })).toThrow(
    "https://",
  );
});
