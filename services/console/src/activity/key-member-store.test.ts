// Guarantees of the creators of keys: a rotation changes no creator, except that of the second key of an older rotation.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { createKeyMemberStore } from "./key-member-store.ts";

let database: ConsoleDatabase;
beforeAll(async () => {
  database = await startConsoleDatabase();
});
afterAll(() => database?.stop());

async function createPerson(): Promise<{ id: string; email: string }> {
  const id = randomUUID();
  const email = `${id}@example.com`;
  await database.pool.query(
    "INSERT INTO person (id, name, email, email_verified, created_at, updated_at) VALUES ($1, 'P', $2, true, now(), now())",
    [id, email],
  );
  return { id, email };
}

test("a rotation by another member keeps the creator, and an older rotation names the creator of its new key", async () => {
  const accountId = randomUUID();
  await database.store.addAccount(accountId, "A");
  const [member, admin] = [await createPerson(), await createPerson()];
  const audit = (actor: { email: string }, action: string, subject: string, detail: Record<string, string>) =>
    database.store.audit({ accountId, actor: actor.email, action, subject, detail, address: "192.0.2.1" });
  await audit(member, "key.created", "one", { name: "k" });
  await audit(admin, "key.rotated", "one", { overlap_hours: "24" });
  await audit(member, "key.created", "two", { name: "k" });
  await audit(admin, "key.rotated", "two", { new_key: "three" });
  expect(await createKeyMemberStore(database.pool).creatorsOf(accountId)).toEqual(
    new Map([
      ["one", member.id],
      ["two", member.id],
      ["three", admin.id],
    ]),
  );
});
