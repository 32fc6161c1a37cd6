// Guesses are counted by whom they are about and where they come from, also when they come at the same moment.
import { ServiceError } from "@gr/proto";
import { systemClock } from "@gr/runtime";
import { afterAll, beforeAll, beforeEach, expect, test } from "@jest/globals";
import { type Attempts, createAttempts } from "./attempts.ts";
import { type ConsoleDatabase, startConsoleDatabase } from "./test/console-database.ts";

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
/** How many of so many guesses at the same moment reached the check. */
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

test("five mails to one address in an hour, and the answer says when there may be more", async () => {
  for (let mail = 0; mail < 5; mail += 1) await attempts.countMail("a@example.com", `n${mail}`);
  const refused = await attempts.countMail("a@example.com", "n9").catch((error: ServiceError) => error);
  expect(refused).toMatchObject({ reason: "too_many_attempts" });
  expect((refused as ServiceError).retryAfterMs).toBeGreaterThan(3_000_000);
});
