// Guarantees of password hashing: threads and cores stay free for other work, and a flood of sign-ins is refused.
import { expect, test } from "@jest/globals";
import { createPasswordHashing } from "./password-hashing.ts";

const MOST = 1 + 64;

test("one password is hashed at a time, and those that would wait for long are refused", async () => {
  let running = 0;
  let together = 0;
  const goOn = Promise.withResolvers<void>();
  const slowly = async <T>(value: T): Promise<T> => {
    running += 1;
    together = Math.max(together, running);
    await goOn.promise;
    running -= 1;
    return value;
  };
  const hashing = createPasswordHashing({
    hashPassword: () => slowly("hash"),
    verifyPassword: () => slowly(true),
  });
  const given = { hash: "hash", password: "x" };
  const all = Array.from({ length: MOST }, (_, index) =>
    index % 2 === 0 ? hashing.hash("x") : hashing.verify(given),
  );
  await expect(hashing.verify(given)).rejects.toMatchObject({ reason: "service_unavailable" });
  goOn.resolve();
  expect(await Promise.all(all)).toHaveLength(MOST);
  expect(together).toBe(1);
  expect(await hashing.verify(given)).toBe(true);
});

test("a password matches its hash and no other", async () => {
  const hashing = createPasswordHashing();
  const hash = await hashing.hash("correct horse");
  expect(await hashing.verify({ hash, password: "correct horse" })).toBe(true);
  expect(await hashing.verify({ hash, password: "wrong horse" })).toBe(false);
});
