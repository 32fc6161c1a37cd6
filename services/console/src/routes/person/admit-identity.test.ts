// Guarantees of identities, on the real tables: a linked one counts by issuer and subject, an unlinked one by a
// verified address.
import { randomUUID } from "node:crypto";
import { createLogger } from "@gr/runtime";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { consoleConfig } from "../../config.ts";
import { linksTo } from "../../mail/links.ts";
import { createToken, digestOfToken } from "../../people/invitation-token.ts";
import { createPeople, type People } from "../../people/people.ts";
import { createSignInStore, type SignInStore } from "../../sign-in/sign-in-store.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "../../test/console-database.ts";
import { addUnverified } from "../../test/unverified-person-store.ts";
import { admitIdentity } from "./admit-identity.ts";

const ISSUER = "https://issuer.example";
let database: ConsoleDatabase;
let people: People;
let signIns: SignInStore;

const config = (signUp: "open" | "closed") =>
  consoleConfig.parse({
    DATABASE_URL: database.url,
    CONSOLE_URL: "http://localhost:1",
    CONSOLE_SECRET: "s".repeat(32),
    CONSOLE_SIGN_UP: signUp,
  });

beforeAll(async () => {
  database = await startConsoleDatabase();
  const mailer = { sends: false, send: () => undefined, close: () => undefined };
  const log = createLogger("silent", "test");
  const links = linksTo("http://localhost:1");
  people = createPeople({ config: config("closed"), pool: database.pool, mailer, links, log });
  signIns = createSignInStore(database.pool);
});
afterAll(() => database.stop());

const admit = (subject: string, email: string | undefined, isEmailVerified = true, signUp?: "open") => {
  const deps = { signIns, people, store: database.store, config: config(signUp ?? "closed") };
  const claims = { issuer: ISSUER, subject, email, isEmailVerified, name: undefined };
  return admitIdentity(deps, "Example Inc.", claims);
};
const refused = (reason: string) => ({ reason });

test("closed: whoever is here already or was invited comes in, nobody else", async () => {
  const known = await people.findOrMake("known@example.com", "Known");
  expect(await admit("k", "Known@Example.com")).toEqual({ person: known, linked: "to a known person" });
  expect(await admit("k", "known@example.com")).toEqual({ person: known, linked: "no" });
  await expect(admit("s", "stranger@example.com")).rejects.toMatchObject(refused("sign_up_closed"));
  expect(await people.find("stranger@example.com")).toBeUndefined();
  const accountId = randomUUID();
  await database.store.addAccount(accountId, "A");
  await database.store.invite({
    id: randomUUID(),
    accountId,
    email: "invited@example.com",
    role: "viewer",
    invitedBy: "known@example.com",
    isMailed: true,
    tokenDigest: digestOfToken(createToken()),
    expiresAt: new Date(Date.now() + 60_000),
  });
  expect(await admit("i", "invited@example.com")).toMatchObject({ linked: "to a new person" });
  // The invitation decides about memberships, and is accepted afterwards.
  expect(await database.store.members(accountId)).toEqual([]);
});

test("open: anybody with a verified address comes in, and becomes a person once", async () => {
  const first = await admit("o", "open@example.com", true, "open");
  expect(first).toMatchObject({ person: { email: "open@example.com" }, linked: "to a new person" });
  expect((await admit("o", "open@example.com", true, "open")).person.id).toBe(first.person.id);
});

test("an address that the issuer has not verified is nobody's, whether it is known here or not", async () => {
  await people.findOrMake("careful@example.com", "Careful");
  for (const address of ["careful@example.com", "new@example.com", undefined, "no address"]) {
    const asked = admit("u", address, address === undefined || !address.includes("@"), "open");
    await expect(asked).rejects.toMatchObject(refused("email_not_verified"));
  }
  expect(await people.find("new@example.com")).toBeUndefined();
});

test("a linked identity stays its person, whatever address it has later", async () => {
  const { person } = await admit("moves", "before@example.com", true, "open");
  await people.findOrMake("after@example.com", "Somebody else");
  expect((await admit("moves", "after@example.com")).person.id).toBe(person.id);
  expect((await admit("moves", "after@example.com", false)).person.id).toBe(person.id);
});

test("an address that is given to somebody else at the issuer does not open what was its first owner's", async () => {
  const { person } = await admit("left", "desk@example.com", true, "open");
  await expect(admit("came", "desk@example.com", true, "open")).rejects.toMatchObject(
    refused("sign_in_refused"),
  );
  expect((await admit("left", "desk@example.com")).person.id).toBe(person.id);
  const [linked] = await signIns.identitiesOf(person.id);
  expect(await signIns.removeIdentity(randomUUID(), linked?.id ?? "")).toBe(false);
  expect(await signIns.removeIdentity(person.id, linked?.id ?? "")).toBe(true);
  expect((await admit("came", "desk@example.com")).person.id).toBe(person.id);
});

test("a password that somebody has set before for an address that was not theirs is taken away", async () => {
  const mine = { email: "mine@example.com", password: "of somebody else" };
  await addUnverified(database.pool, mine);
  const { person } = await admit("mine", mine.email);
  await people.signInAs(new Headers(), person.email);
  await expect(people.signIn(new Headers(), mine)).rejects.toMatchObject(refused("invalid_credentials"));
});

test("a challenge is taken once, by the browser that has begun it, for what it was made, and in time", async () => {
  const add = async (lastsMs = 60_000) => {
    const token = digestOfToken(createToken());
    await signIns.addChallenge({ tokenDigest: token, purpose: "oidc", secrets: { state: "x" }, lastsMs });
    return token;
  };
  const token = await add();
  const both = await Promise.all([
    signIns.claimChallenge(token, "oidc"),
    signIns.claimChallenge(token, "oidc"),
  ]);
  expect(both.filter((challenge) => challenge !== undefined)).toEqual([{ state: "x" }]);
  expect(await signIns.claimChallenge(await add(-1), "oidc")).toBeUndefined();
  await add(-1);
  const kept = await add();
  await signIns.sweep();
  const { rows } = await database.pool.query("SELECT token_digest FROM challenge");
  expect(rows).toEqual([{ token_digest: kept }]);
});
