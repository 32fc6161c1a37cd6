// Adds a person as sign-up did until passwords waited for the verified address: not verified, with a password.
import { randomUUID } from "node:crypto";
import type { Pool } from "@gr/runtime";
import { hashPassword } from "better-auth/crypto";

export async function addUnverified(
  pool: Pool,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<string> {
  const id = randomUUID();
  await pool.query(
    `INSERT INTO person (id, name, email, email_verified, created_at, updated_at)
     VALUES ($1, 'Stranger', $2, false, now(), now())`,
    [id, email],
  );
  await pool.query(
    `INSERT INTO credential (id, person_id, provider, provider_account_id, password, created_at, updated_at)
     VALUES ($1, $2, 'credential', $3, $4, now(), now())`,
    [randomUUID(), id, id, await hashPassword(password)],
  );
  return id;
}
