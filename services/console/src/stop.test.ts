// Guarantee of a stop during a request without a client: nothing waits for its connection, but its statements need the
// pool.
import { setTimeout } from "node:timers/promises";
import { until } from "@gr/testing";
import { expect, test } from "@jest/globals";
import { startConsole } from "./test/start-console.ts";

test("a request whose client has gone is finished before the pool ends", async () => {
  const served = await startConsole();
  const blocker = await served.pool.connect();
  try {
    const owner = await served.signedIn("owner@example.com", "owner");
    await served.signedIn("other@example.com", "viewer");
    const found = "SELECT person_id FROM membership WHERE account_id = $1 AND role = 'viewer'";
    const [viewer] = (await served.pool.query<{ person_id: string }>(found, [served.accountId])).rows;
    await blocker.query("BEGIN");
    await blocker.query("SELECT FROM account WHERE id = $1 FOR UPDATE", [served.accountId]);
    const client = new AbortController();
    const path = `accounts/${served.accountId}/members/${viewer?.person_id}`;
    const left = owner
      .ask("PATCH", path, { role: "developer" }, client.signal)
      .catch((error: Error) => error.name);
    const waiting =
      "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    await until(async () => (await served.pool.query(waiting)).rowCount === 1, { timeoutMs: 60_000 });
    client.abort();
    expect(await left).toBe("AbortError");
    const stopped = served.stopProcess();
    // A stop that does not wait for the request reaches the pool within this pause; a stop that waits cannot fail by
    // it.
    await Promise.race([stopped, setTimeout(500)]);
    await blocker.query("COMMIT");
    await stopped;
    const { rows } = await served.pool.query("SELECT action FROM audit WHERE account_id = $1", [
      served.accountId,
    ]);
    expect(rows).toEqual([{ action: "member.role_changed" }]);
  } finally {
    blocker.release();
    await served.stop();
  }
});
