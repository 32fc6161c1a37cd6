// Guarantees of password hashing: threads and cores stay free for other work, and a flood of sign-ins is refused.
import { expect, test } from "@jest/globals";
import { createPasswordHashing } from "./password-hashing.ts";

const MOST = 1 + 64;

test("one password is hashed at a time, and those that would wait for long are refused", async () => {
  let running = 0;
  let together = 0;
  const released = Promise.withResolvers<void>();
  const slowly = async <T>(value: T): Promise<T> => {
    running += 1;
    together = Math.max(together, running);
    await released.promise;
    running -= 1;
    return value;
  };
  const hashing = createPasswordHashing({
    hashPassword: () => slowly("hash"),
    verifyPassword: () => slowly(true),
  });
  const attempt = { hash: "hash", password: "x" };
  const all = Array.from({ length: MOST }, (_, index) =>
    index % 2 === 0 ? hashing.hash("x") : hashing.verify(attempt),
  );
  await expect(hashing.verify(attempt)).rejects.toMatchObject({ reason: "service_unavailable" });
  released.resolve();
  expect(await Promise.all(all)).toHaveLength(MOST);
  expect(together).toBe(1);
  expect(await hashing.verify(attempt)).toBe(true);
});

test("a password matches its hash and no other", async () => {
  const hashing = createPasswordHashing();
  const hash = await hashing.hash("correct horse");
  expect(await hashing.verify({ hash, password: "correct horse" })).toBe(true);
  expect(await hashing.verify({ hash, password: "wrong horse" })).toBe(false);
});
