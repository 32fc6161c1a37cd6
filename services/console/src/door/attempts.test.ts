// Guarantees of attempts: guesses are counted by person and by network, even simultaneous ones.
import { ServiceError } from "@gr/proto";
import { systemClock } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type ConsoleDatabase, startConsoleDatabase } from "../test/console-database.ts";
import { type Attempts, createAttempts } from "./attempts.ts";

let database: ConsoleDatabase;
let attempts: Attempts;
beforeAll(async () => {
  database = await startConsoleDatabase();
  attempts = createAttempts(database.store, systemClock);
});
beforeEach(() => database.pool.query("TRUNCATE attempt"));
afterAll(() => database.stop());

const wrong = () => Promise.reject(new ServiceError("invalid_credentials", "no"));
const right = async () => "in";
const guess = (email: string, network: string, check: () => Promise<unknown> = wrong) =>
  attempts.guardPassword(email, network, check).catch((error: ServiceError) => error.reason);
/** Returns how many simultaneous guesses reached the check. @param count number of guesses */
const reached = async (count: number, of: (index: number) => [email: string, network: string]) => {
  const outcomes = await Promise.all(Array.from({ length: count }, (_, index) => guess(...of(index))));
  return outcomes.filter((outcome) => outcome === "invalid_credentials").length;
};

test("ten guesses about one person from one network, however many come at once", async () => {
  expect(await reached(25, () => ["a@example.com", "n1"])).toBe(10);
  expect(await guess("a@example.com", "n1", right)).toBe("too_many_attempts");
  expect(await guess("a@example.com", "n2", right)).toBe("in");
  expect(await guess("b@example.com", "n1", right)).toBe("in");
});

test("fifty from one network, whomever they are about", async () => {
  expect(await reached(60, (index) => [`${index}@example.com`, "n1"])).toBe(50);
  expect(await guess("z@example.com", "n1", right)).toBe("too_many_attempts");
});

test("a hundred about one person, wherever they come from", async () => {
  expect(await reached(120, (index) => ["a@example.com", `n${index}`])).toBe(100);
  expect(await guess("a@example.com", "elsewhere", right)).toBe("too_many_attempts");
});

test("who gets in begins anew, and so does everybody when the window is over", async () => {
  await reached(9, () => ["a@example.com", "n1"]);
  expect(await guess("a@example.com", "n1", right)).toBe("in");
  expect(await reached(12, () => ["a@example.com", "n1"])).toBe(10);
  await database.pool.query("UPDATE attempt SET window_ends_at = now() - interval '1 second'");
  expect(await guess("a@example.com", "n1", right)).toBe("in");
});

test("a check that found no free place is not a wrong password", async () => {
  const busy = () => Promise.reject(new ServiceError("service_unavailable", "busy"));
  for (let time = 0; time < 200; time += 1)
    expect(await guess("a@example.com", "n1", busy)).toBe("service_unavailable");
  expect(await reached(25, () => ["a@example.com", "n1"])).toBe(10);
});

test("five mails to one address in an hour, and the answer says when there may be more", async () => {
  const mail = (email: string, network: string) => attempts.countMail({ email, network });
  for (let sent = 0; sent < 5; sent += 1) await mail("a@example.com", `n${sent}`);
  const refused = await mail("a@example.com", "n9").catch((error: ServiceError) => error);
  expect(refused).toMatchObject({
    reason: "too_many_attempts",
    message: "Too many mails were sent to this address; try again later.",
  });
  expect((refused as ServiceError).retryAfterMs).toBeGreaterThan(3_000_000);
});

test("tags and capitals of an address are one mailbox", async () => {
  for (const email of [
    "a@example.com",
    "A@Example.com",
    "a+1@example.com",
    "a+2@example.com",
    "a+@example.com",
  ])
    expect(await attempts.mayMail({ email, network: "n1" })).toBe(true);
  expect(await attempts.mayMail({ email: "a+3@example.com", network: "n2" })).toBe(false);
  expect(await attempts.mayMail({ email: "b@example.com", network: "n2" })).toBe(true);
});

test("a network sends thirty mails an hour, an account a hundred a day; neither uses up a recipient's", async () => {
  const from = (network: string, index: number, accountId?: string) =>
    attempts.mayMail({ email: `${index}@example.com`, network, ...(accountId ? { accountId } : {}) });
  const sent = async (count: number, of: (index: number) => Promise<boolean>) =>
    (await Promise.all(Array.from({ length: count }, (_, index) => of(index)))).filter(Boolean).length;
  expect(await sent(40, (index) => from("n1", index))).toBe(30);
  expect(await sent(120, (index) => from(`m${index}`, 1_000 + index, "account"))).toBe(100);
  const refused = attempts.countMail({ email: "z@example.com", network: "n3", accountId: "account" });
  await expect(refused).rejects.toThrow("Too many mails were sent from this account; try again later.");
  const { rows } = await database.pool.query(
    "SELECT max(count) AS most FROM attempt WHERE subject !~ '@|:account:'",
  );
  expect(rows).toEqual([{ most: 1 }]);
});

test("strangers who ask for mails keep back no notice of a change", async () => {
  for (let asked = 0; asked < 10; asked += 1)
    await attempts.mayMail({ email: "a@example.com", network: `n${asked}` });
  await attempts.countNotice("a@example.com");
});
