// The simulator as a process: killed, restarted, stopped, and refused its port.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { parseConfig } from "./config.ts";
import { chat, costsIn, TestClient, withFolder } from "./test-client.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));
const CHAT = "/openrouter/api/v1/chat/completions";

interface Running {
  readonly child: ChildProcess;
  readonly client: TestClient;
}

function launch(folder: string, port: number, more: Record<string, string> = {}): ChildProcess {
  const env = { PATH: process.env["PATH"], DATA_DIR: folder, SIMULATOR_PORT: String(port), ...more };
  return spawn(process.execPath, [MAIN], { env, stdio: ["ignore", "pipe", "pipe"] });
}

/** Starts the process and waits for the line with its address. */
async function start(folder: string): Promise<Running> {
  const child = launch(folder, 0);
  let printed = "";
  for await (const bytes of child.stdout ?? []) {
    printed += String(bytes);
    const url = /serves at (\S+);/.exec(printed)?.[1];
    if (url !== undefined) return { child, client: new TestClient(url) };
  }
  throw new Error(`The simulator did not start: ${printed}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exit = once(child, "exit");
  child.kill(signal);
  const [code] = await exit;
  return code;
}

describe("the simulator", () => {
  test("killed in the middle of its work has billed every answer that anyone got", () =>
    withFolder(async (folder) => {
      const first = await start(folder);
      const answered = new Map<string, bigint>();
      const workers = Array.from({ length: 8 }, async (_, worker) => {
        for (let turn = 0; ; turn++) {
          const id = `kill-${worker}-${turn}`;
          const body = chat("sandbox/chat", "hi");
          const answer = await first.client.post(CHAT, body, { "x-request-id": id }).catch(() => undefined);
          if (answer === undefined) return;
          answered.set(id, costsIn(answer.text)[0] ?? 0n);
          if (answered.size === 500) first.child.kill("SIGKILL");
        }
      });
      await Promise.all(workers);
      appendFileSync(join(folder, "bill.jsonl"), '{"request_id":"to');
      const second = await start(folder);
      const { items, total_pico_usd } = await second.client.bill();
      const billed = new Map(items.map((item) => [item.request_id, BigInt(item.pico_usd)]));
      for (const [id, cost] of answered) expect([id, billed.get(id)]).toEqual([id, cost]);
      // At most the requests under way at the kill are billed and unanswered.
      expect(billed.size - answered.size).toBeLessThanOrEqual(8);
      expect(items.reduce((sum, item) => sum + BigInt(item.pico_usd), 0n)).toBe(BigInt(total_pico_usd));
      expect(await end(second.child, "SIGTERM")).toBe(0);
    }));

  test("stops on SIGINT with code 0, also while a stream runs", () =>
    withFolder(async (folder) => {
      const { child, client } = await start(folder);
      const response = await client.open(CHAT, chat("sandbox/chat", "hi #tokens=15", { stream: true }));
      const text = response.text();
      expect(await end(child, "SIGINT")).toBe(0);
      expect(await text).toContain("[DONE]");
    }));

  test("says in one sentence that its port is taken, and exits with 1", () =>
    withFolder(async (folder) => {
      const blocker = createServer().listen(0, "127.0.0.1");
      await once(blocker, "listening");
      const address = blocker.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      const child = launch(folder, port);
      let printed = "";
      child.stderr?.on("data", (bytes) => {
        printed += String(bytes);
      });
      const [code] = await once(child, "close");
      blocker.close();
      expect(code).toBe(1);
      expect(printed).toBe(
        `Port ${port} on 127.0.0.1 is taken: stop what listens there, or set SIMULATOR_PORT.\n`,
      );
    }));

  test.each([
    [
      "HOST",
      { HOST: "203.0.113.1" },
      /^Cannot listen on 203\.0\.113\.1:0 \(EADDRNOTAVAIL\): set HOST to .*\.\n$/,
    ],
    ["DATA_DIR", { DATA_DIR: "/dev/null/data" }, /^DATA_DIR \/dev\/null\/data cannot be used: ENOTDIR.*\n$/],
  ])("says in one sentence that %s cannot be used", (_setting, wrong, sentence) =>
    withFolder(async (folder) => {
      const child = launch(folder, 0, wrong);
      let printed = "";
      child.stderr?.on("data", (bytes) => {
        printed += String(bytes);
      });
      const [code] = await once(child, "close");
      expect(code).toBe(1);
      expect(printed).toMatch(sentence);
    }),
  );
});

describe("settings", () => {
  test("have defaults, also for empty variables", () => {
    expect(parseConfig({ HOST: "", SIMULATOR_PORT: "" })).toEqual({
      HOST: "127.0.0.1",
      SIMULATOR_PORT: 8090,
      DATA_DIR: "./.data",
      SIMULATOR_TOKEN_DELAY_MS: 15,
    });
  });

  test("that are wrong are all named at once", () => {
    expect(() => parseConfig({ SIMULATOR_PORT: "http", SIMULATOR_TOKEN_DELAY_MS: "-1" })).toThrow(
      /SIMULATOR_PORT.*SIMULATOR_TOKEN_DELAY_MS/,
    );
  });
});
