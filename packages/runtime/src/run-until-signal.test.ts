// Guarantees of a process towards its platform: signals, exit codes, output.
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { CatalogService } from "@gr/proto/catalog";
import { afterEach, describe, expect, test } from "@jest/globals";
import { createRemoteTransport } from "./peers.ts";
import { systemClock } from "./process/clock.ts";
import { PRINCIPAL_HEADER, signPrincipal } from "./rpc/principal.ts";
import { createServiceClient } from "./rpc/service-client.ts";

const ENTRY = fileURLToPath(new URL("./test/slow-process.ts", import.meta.url));
const SECRET = "a secret for tests that is long enough";
const env = {
  SLOW_KEY: "x",
  SERVICE_HTTP_PORT: "0",
  SERVICE_RPC_PORT: "0",
  INTERNAL_AUTH_SECRET: SECRET,
  LOG_LEVEL: "silent",
};

describe("a process of its own", () => {
  let child: ChildProcessWithoutNullStreams | undefined;
  afterEach(() => {
    child?.kill("SIGKILL");
  });
  const start = (variables: Record<string, string>) => {
    child = spawn(process.execPath, ["--no-warnings", ENTRY], { env: variables });
    const printed = { out: "", err: "" };
    child.stdout.on("data", (data) => {
      printed.out += data;
    });
    child.stderr.on("data", (data) => {
      printed.err += data;
    });
    const exit = once(child, "close").then(([code]) => code as number | null);
    return { child, printed, exit };
  };
  const startSlow = async () => {
    const started = start(env);
    const [line] = (await once(createInterface({ input: started.child.stdout }), "line")) as [string];
    return { ...started, ports: JSON.parse(line) as { rpc: number; http: number } };
  };

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)(
    "%s lets an open answer finish, ends open subscriptions and exits with 0",
    async (signal) => {
      const { child, exit, printed, ports } = await startSlow();
      const transport = createRemoteTransport(`http://127.0.0.1:${ports.rpc}`, SECRET, systemClock);
      const versions: string[] = [];
      const watched = Promise.withResolvers<void>();
      const watching = (async () => {
        const catalog = createServiceClient(CatalogService, "slow", transport);
        for await (const message of catalog.watchCatalog({})) {
          versions.push(message.catalog?.version ?? "");
          if (versions.length === 2) watched.resolve();
        }
      })();
      await watched.promise;
      const answer = await fetch(`http://127.0.0.1:${ports.http}/pieces`, {
        headers: { [PRINCIPAL_HEADER]: signPrincipal(SECRET, "slow", null, systemClock) },
      });
      let text = "";
      for await (const piece of answer.body ?? []) {
        if (text === "") {
          child.kill(signal);
          // A signal that arrives twice at once, as through npm, is one signal.
          child.kill(signal);
        }
        text += new TextDecoder().decode(piece);
      }
      expect(text).toBe("12345");
      await watching;
      expect(versions).toEqual(["1", "2"]);
      expect(await exit).toBe(0);
      expect(printed.out).toMatch(/stopped\n$/);
      expect(printed.err).toBe("");
    },
  );

  test("a process that cannot start prints one sentence and exits with 1", async () => {
    const { exit, printed } = start({ ...env, SLOW_KEY: "" });
    expect(await exit).toBe(1);
    expect(printed.err).toBe("The configuration is not usable: SLOW_KEY is required (slow).\n");
    expect(printed.out).toBe("");
  });

  test("a port in use is one sentence on the way out", async () => {
    const { ports } = await startSlow();
    const first = child;
    const { exit, printed } = start({ ...env, SERVICE_RPC_PORT: String(ports.rpc) });
    expect(await exit).toBe(1);
    expect(printed.err).toBe(`127.0.0.1:${ports.rpc} is in use; set SERVICE_RPC_PORT to a free port.\n`);
    first?.kill("SIGKILL");
  });
});
