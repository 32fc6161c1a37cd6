// Guarantees of a process: it starts all of its modules or nothing remains, and it stops in reverse.
import { connect, createServer, type Server } from "node:net";
import { freePort } from "@gr/embedded";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { z } from "zod";
import { defineModule, type Module, type ModuleInstance } from "./module.ts";
import { OperatorError } from "./process/operator-error.ts";
import { type RunningProcess, startProcess } from "./run.ts";

const env = {
  SERVICE_HTTP_PORT: "0",
  SERVICE_RPC_PORT: "0",
  INTERNAL_AUTH_SECRET: "a secret for tests that is long enough",
  LOG_LEVEL: "silent",
};

describe("a process", () => {
  let events: string[];
  let running: RunningProcess | undefined;
  let blocker: Server | undefined;

  beforeEach(() => {
    events = [];
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
    await new Promise((resolve) => (blocker === undefined ? resolve(undefined) : blocker.close(resolve)));
    blocker = undefined;
  });

  function moduleOf(
    name: string,
    needs: string[],
    broken: Partial<Record<string, () => never>> = {},
  ): Module {
    const note = (what: string) => {
      events.push(`${what} ${name}`);
      broken[what]?.();
    };
    return defineModule({
      name,
      needs,
      config: z.object({}),
      create: async (): Promise<ModuleInstance> => {
        note("create");
        return {
          start: async () => note("start"),
          stop: async () => note("stop"),
          ready: async () => {
            broken["ready"]?.();
            return true;
          },
        };
      },
    });
  }
  const fail = () => {
    throw new Error("it broke");
  };
  const isListening = (port: number) =>
    new Promise<boolean>((resolve) => {
      const socket = connect(port, "127.0.0.1", () => {
        socket.destroy();
        resolve(true);
      });
      socket.on("error", () => resolve(false));
    });
  const freePorts = async () => {
    const [http, rpc] = [await freePort(), await freePort()];
    return { http, rpc, env: { ...env, SERVICE_HTTP_PORT: String(http), SERVICE_RPC_PORT: String(rpc) } };
  };

  test("creates in the order of needs, starts when all exist, stops in reverse", async () => {
    running = await startProcess([moduleOf("c", ["b"]), moduleOf("b", ["a"]), moduleOf("a", [])], { env });
    expect(events).toEqual(["create a", "create b", "create c", "start a", "start b", "start c"]);
    events = [];
    await Promise.all([running.stop(), running.stop()]);
    expect(events).toEqual(["stop c", "stop b", "stop a"]);
  });

  test("a module that cannot be created stops those before it, in reverse", async () => {
    const modules = [moduleOf("a", []), moduleOf("b", ["a"]), moduleOf("c", ["b"], { create: fail })];
    await expect(startProcess(modules, { env })).rejects.toThrow("it broke");
    expect(events).toEqual(["create a", "create b", "create c", "stop b", "stop a"]);
  });

  test("a module that cannot start stops all of them and closes the ports", async () => {
    const ports = await freePorts();
    const modules = [moduleOf("a", []), moduleOf("b", ["a"], { start: fail })];
    await expect(startProcess(modules, { env: ports.env })).rejects.toThrow("it broke");
    expect(events).toEqual(["create a", "create b", "start a", "start b", "stop b", "stop a"]);
    expect(await isListening(ports.http)).toBe(false);
    expect(await isListening(ports.rpc)).toBe(false);
  });

  test("a module that does not stop cleanly does not keep the others from stopping", async () => {
    const modules = [moduleOf("a", []), moduleOf("b", ["a"], { stop: fail }), moduleOf("c", ["b"])];
    running = await startProcess(modules, { env });
    events = [];
    await running.stop();
    expect(events).toEqual(["stop c", "stop b", "stop a"]);
  });

  test.each(["SERVICE_HTTP_PORT", "SERVICE_RPC_PORT"] as const)(
    "a %s that is in use is one sentence, and nothing is left",
    async (name) => {
      const ports = await freePorts();
      const occupied = Number(ports.env[name]);
      const other = name === "SERVICE_HTTP_PORT" ? ports.rpc : ports.http;
      blocker = createServer();
      await new Promise<void>((resolve) => blocker?.listen(occupied, "127.0.0.1", resolve));
      const error: unknown = await startProcess([moduleOf("a", [])], { env: ports.env }).catch(
        (thrown) => thrown,
      );
      expect(error).toBeInstanceOf(OperatorError);
      expect((error as Error).message).toBe(`127.0.0.1:${occupied} is in use; set ${name} to a free port.`);
      expect(events).toEqual(["create a", "stop a"]);
      expect(await isListening(other)).toBe(false);
    },
  );

  test("a module whose readiness cannot be asked is not ready, with the reason", async () => {
    running = await startProcess([moduleOf("a", []), moduleOf("b", [], { ready: fail })], { env });
    const base = `http://127.0.0.1:${running.httpPort}`;
    const answer = await fetch(`${base}/readyz`);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({ status: "not ready", problems: ["b: it broke"] });
    expect((await fetch(`${base}/livez`)).status).toBe(200);
  });
});
