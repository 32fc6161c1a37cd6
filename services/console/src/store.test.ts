// Guarantees of members and invitations during simultaneous or late changes.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { createToken, digestOfToken } from "./people/invitation-token.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "./test/console-database.ts";

let database: ConsoleDatabase;
let accountId: string;
beforeAll(async () => {
  database = await startConsoleDatabase();
});
beforeEach(async () => {
  accountId = randomUUID();
  await database.store.addAccount(accountId, "A");
});
afterAll(() => database.stop());

async function createPerson(): Promise<{ personId: string; email: string }> {
  const personId = randomUUID();
  const email = `${personId}@example.com`;
  await database.pool.query(
    "INSERT INTO person (id, name, email, email_verified, created_at, updated_at) VALUES ($1, 'P', $2, true, now(), now())",
    [personId, email],
  );
  return { personId, email };
}

test("of two owners who leave at the same moment one stays", async () => {
  const { store } = database;
  const people = [await createPerson(), await createPerson()];
  for (const { personId } of people) await store.addMember(accountId, personId, "owner");
  const leave = ({ personId }: { personId: string }) =>
    store.changeMember(accountId, personId, (_member, owners) => {
      if (owners < 2) throw new Error("the last one");
      return "removed";
    });
  const outcomes = await Promise.allSettled(people.map(leave));
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(await store.members(accountId)).toHaveLength(1);
});

test("an invitation is accepted once, by whom it is for, in time, and takes no role away", async () => {
  const { store, pool } = database;
  const [guest, other] = [await createPerson(), await createPerson()];
  const invite = async (role: "viewer" | "admin", expiresAt = new Date(Date.now() + 60_000)) => {
    const token = createToken();
    const fields = {
      id: randomUUID(),
      accountId,
      email: guest.email,
      role,
      invitedBy: "o@example.com",
      isMailed: true,
      expiresAt,
    };
    await store.invite({ ...fields, tokenDigest: digestOfToken(token) });
    return digestOfToken(token);
  };
  const first = await invite("admin");
  expect(await store.acceptInvitation(first, other)).toBeUndefined();
  const both = await Promise.all([
    store.acceptInvitation(first, guest),
    store.acceptInvitation(first, guest),
  ]);
  expect(both.filter((joined) => joined !== undefined)).toEqual([
    { account_id: accountId, account_name: "A", role: "admin" },
  ]);
  expect(await store.acceptInvitation(await invite("viewer"), guest)).toMatchObject({ role: "admin" });
  const replaced = await invite("viewer");
  await invite("viewer");
  expect(await store.acceptInvitation(replaced, guest)).toBeUndefined();
  expect(
    await store.acceptInvitation(await invite("viewer", new Date(Date.now() - 1)), guest),
  ).toBeUndefined();
  const { rows } = await pool.query("SELECT role FROM membership WHERE account_id = $1", [accountId]);
  expect(rows).toEqual([{ role: "admin" }]);
});

test("what has expired is swept away, and nothing else", async () => {
  const { store, pool } = database;
  await store.countAttempt("old", 60_000);
  await pool.query("UPDATE attempt SET window_ends_at = now() - interval '1 second' WHERE subject = 'old'");
  await store.countAttempt("new", 60_000);
  await store.sweep();
  const { rows } = await pool.query("SELECT subject FROM attempt");
  expect(rows).toEqual([{ subject: "new" }]);
});
