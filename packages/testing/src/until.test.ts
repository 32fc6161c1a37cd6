// The guarantees of waiting.
import { expect, test } from "@jest/globals";
import { until } from "./until.ts";

test("ends with the first true answer, and takes an error for not yet", async () => {
  const answers = [() => false, () => Promise.reject(new Error("not yet")), () => true];
  let calls = 0;
  await until(() => answers[calls++]?.() ?? false, { timeoutMs: 5_000 });
  expect(calls).toBe(3);
});

test("gives up after the given time and says what went wrong last", async () => {
  const failing = until(() => Promise.reject(new Error("the door is locked")), { timeoutMs: 30 });
  await expect(failing).rejects.toMatchObject({
    message: "not true within 30 ms: the door is locked",
    cause: expect.objectContaining({ message: "the door is locked" }),
  });
  await expect(until(() => false, { timeoutMs: 0 })).rejects.toThrow(/^not true within 0 ms$/);
});
