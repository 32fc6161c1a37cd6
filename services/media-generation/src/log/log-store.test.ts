// The log while its database is in trouble.
import type { Pool } from "@gr/runtime";
import { expect, test } from "@jest/globals";
import { createLogStore } from "./log-store.ts";

const failing = (error: Error) => createLogStore({ query: () => Promise.reject(error) } as unknown as Pool);
const owner = { accountId: "a", keyId: "k" };

test("a database that does not answer is a refusal that may be repeated", async () => {
  const timeout = new Error("Connection terminated due to connection timeout");
  const gone = Object.assign(new Error("the database system is shutting down"), { code: "57P01" });
  for (const error of [timeout, gone]) {
    await expect(failing(error).find(owner, "id")).rejects.toMatchObject({ reason: "service_unavailable" });
  }
});

test("a defect of ours is none", async () => {
  const error = Object.assign(new Error("no such column"), { code: "42703" });
  await expect(failing(error).find(owner, "id")).rejects.toBe(error);
});
