// Media generation as a process that can be killed, with billing and the catalogue in the process of the test.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort, until, warmStart } from "@gr/testing";

const ENTRY = fileURLToPath(new URL("./child/main.ts", import.meta.url));

export interface MediaChild {
  readonly url: string;
  kill(): Promise<void>;
  /** SIGSTOP: the process lives, but does nothing. */
  pause(): void;
  resume(): void;
}

export async function startChild(env: Readonly<Record<string, string>>): Promise<MediaChild> {
  const [edgePort, httpPort] = [await freePort(), await freePort()];
  const ports = { EDGE_PORT: String(edgePort), SERVICE_HTTP_PORT: String(httpPort), SERVICE_RPC_PORT: "0" };
  const child: ChildProcess = spawn(process.execPath, [ENTRY], {
    env: { ...warmStart(), ...env, ...ports },
    // The channel ends the child with us, whatever ends us.
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const exited = once(child, "exit");
  const readyUrl = `http://127.0.0.1:${httpPort}/readyz`;
  await until(async () => (await fetch(readyUrl)).status === 200, { timeoutMs: 60_000 });
  return {
    url: `http://127.0.0.1:${edgePort}`,
    kill: async () => {
      child.kill("SIGKILL");
      await exited;
    },
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
  };
}
