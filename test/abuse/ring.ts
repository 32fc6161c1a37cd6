// A router under attack: the attacking clients, the names that exist in it, and requests to it by raw bytes or whole.
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { creditsOf } from "@gr/money";
import { Agent, type Dispatcher, request } from "undici";
import { mintKey, mintManagementKey, openAccount } from "../chaos/customers.ts";
import { call } from "../e2e/http.ts";
import { type Router, type RouterOptions, startRouter, type Topology } from "../e2e/topology.ts";
import { processorTime } from "./process-cost.ts";
import { readTargets, type Target } from "./targets.ts";

/** `paying` has credit; `hopeless` has a spend limit of 0; `nobody` has no key. */
export type Caller = "paying" | "hopeless" | "nobody";
export const CALLERS: readonly Caller[] = ["paying", "hopeless", "nobody"];

export interface Attack {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Sends no length. */
  readonly chunked?: boolean;
}

const PATIENCE_MS = 500_000;
const REDIRECT = fileURLToPath(new URL("./redirect-names.mjs", import.meta.url));

/** Requests of a client that stops reading: their answers of 4 MB do not fit into the buffers of any kernel. */
export const UNREAD = 16;

/** Environment of a router that resolves every name under `abuse.example` to a port of this machine. */
export const namesAt = (port: number) => ({
  NODE_OPTIONS: `--import=${REDIRECT}`,
  ABUSE_EXAMPLE_PORT: String(port),
});

export class AbuseRing {
  readonly router: Router;
  readonly targets: readonly Target[];
  readonly victim: string;
  readonly #secrets: Readonly<Record<Caller | "manager", string | undefined>>;
  readonly #agent = new Agent({ connections: 64, headersTimeout: PATIENCE_MS, bodyTimeout: PATIENCE_MS });
  readonly #sockets: Socket[] = [];

  private constructor(
    router: Router,
    targets: readonly Target[],
    victim: string,
    secrets: Readonly<Record<Caller | "manager", string | undefined>>,
  ) {
    this.router = router;
    this.targets = targets;
    this.victim = victim;
    this.#secrets = secrets;
  }

  static async start(options: RouterOptions = {}, topology: Topology = "all-in-one"): Promise<AbuseRing> {
    const router = await startRouter(topology, options);
    const { dataDir } = router;
    const open = () => openAccount(dataDir, creditsOf("1000"));
    const [attacker, victim] = [await open(), await open()];
    const paying = await mintKey(dataDir, attacker);
    const secrets = {
      paying: paying.secret,
      hopeless: (await mintKey(dataDir, attacker, { cap: 0n })).secret,
      nobody: undefined,
      manager: await mintManagementKey(dataDir, attacker),
    };
    const picture = { model: "sandbox/image", prompt: "a" };
    const { headers, body } = await call(router, "POST", "/v1/compat/images/generations", {
      body: picture,
      key: paying.secret,
    });
    const known = {
      media: String(body.data?.[0]?.url).split("/").at(-1) ?? "",
      generationId: headers.get("x-request-id") ?? "",
      keyId: paying.keyId,
    };
    const targets = await readTargets(router.baseUrl, known);
    return new AbuseRing(router, targets, (await mintKey(dataDir, victim)).secret, secrets);
  }

  async stop(): Promise<void> {
    this.leave();
    await this.#agent.destroy();
    await this.router.dispose();
  }

  /** The secret with which a caller attacks a target. A target for management keys is attacked with such a key. */
  secretOf(caller: Caller, target: Target): string | undefined {
    const isManager = caller !== "nobody" && target.key === "management";
    return this.#secrets[isManager ? "manager" : caller];
  }

  /** Sends one request and reads its answer. @returns its status; 0 when the connection was closed */
  async attack(caller: Caller, target: Target, { headers, body, chunked }: Attack): Promise<number> {
    const secret = this.secretOf(caller, target);
    try {
      const answer = await request(`${this.router.baseUrl}${target.path}`, {
        method: target.method as Dispatcher.HttpMethod,
        dispatcher: this.#agent,
        headers: {
          ...(secret === undefined ? {} : { authorization: `Bearer ${secret}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          // No generation runs: an accepted request would cost as much as its generation.
          ...(target.spends ? { "x-max-cost": "0" } : {}),
          ...headers,
        },
        ...(body === undefined ? {} : { body: chunked === true ? Readable.from([body]) : body }),
      });
      await answer.body.dump({ limit: Number.POSITIVE_INFINITY });
      return answer.statusCode;
    } catch {
      return 0;
    }
  }

  /** Returns the milliseconds of processor time of the router until the work is over. */
  async costOf(work: () => Promise<unknown>): Promise<number> {
    const before = await processorTime(this.router.pid);
    await work();
    return (await processorTime(this.router.pid)) - before;
  }

  /**
   * Sends requests over a connection of its own and never reads more than the first bytes.
   * @param count requests, sent together
   */
  async hold(caller: Caller, target: Target, count = 1): Promise<void> {
    const secret = this.secretOf(caller, target);
    const key = secret === undefined ? "" : `Authorization: Bearer ${secret}\r\n`;
    const { hostname, port } = new URL(this.router.baseUrl);
    const socket = connect(Number(port), hostname);
    this.#sockets.push(socket);
    socket.on("error", () => socket.destroy());
    await new Promise<void>((resolve) => {
      socket.once("close", () => resolve());
      socket.once("data", () => {
        socket.pause();
        resolve();
      });
      socket.write(`${target.method} ${target.path} HTTP/1.1\r\nHost: x\r\n${key}\r\n`.repeat(count));
    });
  }

  /** Sends the first chat of a new customer over a new connection. @returns its status; 0 = it was closed */
  async serveNewcomer(): Promise<number> {
    const { dataDir, baseUrl } = this.router;
    const { secret } = await mintKey(dataDir, await openAccount(dataDir, creditsOf("1")));
    const dispatcher = new Agent({ headersTimeout: PATIENCE_MS });
    try {
      const { path, body } = this.find("post /v1/compat/chat/completions");
      const answer = await request(`${baseUrl}${path}`, {
        method: "POST",
        dispatcher,
        headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      await answer.body.dump();
      return answer.statusCode;
    } catch {
      return 0;
    } finally {
      await dispatcher.destroy();
    }
  }

  /** Closes every connection of the attackers. */
  leave(): void {
    for (const socket of this.#sockets.splice(0)) socket.destroy();
  }

  find(name: string): Target {
    const found = this.targets.find((target) => target.name === name);
    if (found === undefined) throw new Error(`there is no target ${name}`);
    return found;
  }
}
