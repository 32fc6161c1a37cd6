// Media generation in a process that is killed at a chosen moment, with billing, the catalogue and the provider in the
// process of the test, so that they outlive it.
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { FakeBilling, FakeHold } from "@gr/ledger-model";
import { type RunningProcess, startProcess } from "@gr/runtime";
import { freePort, startChild, type TestChild, type TestDatabase, until } from "@gr/testing";
import pg from "pg";
import { crashModules } from "./crash-modules.ts";
import { fixedCatalog } from "./fixed-catalog.ts";
import { migratedDatabase } from "./migrated-database.ts";
import { drawPicture } from "./pictures.ts";
import { type FixedAnswer, type ScriptedServer, startScriptedServer } from "./scripted-server.ts";
import { type Answer, createBilling, environment, isPreview, PATIENT, postJson } from "./start-media.ts";

const ENTRY = fileURLToPath(new URL("./child/main.ts", import.meta.url));
const SETTLED_WITHIN_MS = 60_000;
export const fox = { model: "sandbox/image", prompt: "a fox" };

/** Media generation, as its clients see it. */
export interface RunningMedia {
  /** The address for clients. */
  readonly url: string;
}

/** Media generation as a process of its own. */
export interface MediaChild extends RunningMedia, Pick<TestChild, "pid" | "kill" | "pause" | "resume"> {}

export class CrashRing {
  readonly upstream: ScriptedServer;
  readonly billing: FakeBilling;
  /** Reads and locks the process's tables. */
  readonly db: pg.Client;
  readonly #peers: RunningProcess;
  readonly #database: TestDatabase;
  readonly #dataDir: string;
  readonly #children: MediaChild[] = [];
  readonly #inProcess: RunningProcess[] = [];
  readonly #env: Readonly<Record<string, string>>;

  private constructor(parts: {
    upstream: ScriptedServer;
    billing: FakeBilling;
    database: TestDatabase;
    dataDir: string;
    env: Readonly<Record<string, string>>;
    peers: RunningProcess;
    db: pg.Client;
  }) {
    this.upstream = parts.upstream;
    this.billing = parts.billing;
    this.db = parts.db;
    this.#peers = parts.peers;
    this.#database = parts.database;
    this.#dataDir = parts.dataDir;
    this.#env = parts.env;
  }

  static async start(changes: Readonly<Record<string, string>> = {}): Promise<CrashRing> {
    const upstream = await startScriptedServer();
    const billing = createBilling();
    const database = await migratedDatabase();
    const dataDir = await mkdtemp(join(tmpdir(), "media-crash-"));
    const base = environment(database.url, dataDir, {
      upstreamUrl: upstream.url,
      env: { ...PATIENT, ...changes },
    });
    const peers = await startProcess([billing.module, fixedCatalog], { env: base });
    const [rpc, http] = [peers.rpcPort, peers.httpPort].map((port) => `http://127.0.0.1:${port}`);
    const env = Object.fromEntries([
      ...Object.entries(base),
      ...["BILLING", "CATALOG"].flatMap((peer) => [
        [`${peer}_RPC_URL`, rpc],
        [`${peer}_HTTP_URL`, http],
      ]),
    ]);
    const db = new pg.Client({ connectionString: database.url, options: "-c search_path=media_generation" });
    await db.connect();
    return new CrashRing({ upstream, billing, database, dataDir, env, peers, db });
  }

  /**
   * Starts media generation on the same data in the process of the test, which no test kills: a process of its own would need a second of a
   * processor.
   */
  async startSurvivor(env: Readonly<Record<string, string>> = {}): Promise<RunningMedia> {
    const running = await startProcess(crashModules, { env: { ...this.#env, ...env } });
    this.#inProcess.push(running);
    const readyUrl = `http://127.0.0.1:${running.httpPort}/readyz`;
    await until(async () => (await fetch(readyUrl)).ok, { timeoutMs: SETTLED_WITHIN_MS });
    return { url: running.publicUrl("edge") ?? "" };
  }

  /** Starts one more process on the same data. */
  async startChild(env: Readonly<Record<string, string>> = {}): Promise<MediaChild> {
    const edgePort = String(await freePort());
    const child = await startChild(ENTRY, { ...this.#env, ...env, EDGE_PORT: edgePort });
    const media = { ...child, url: `http://127.0.0.1:${edgePort}` };
    this.#children.push(media);
    return media;
  }

  /**
   * Sends a request to a new process, kills it at the armed moment, starts a survivor, and waits
   * until no hold is open.
   * @param options.env of the process that is killed
   * @param options.later the request is for a video, and does not wait for it: it may be accepted before the crash
   * @param options.callbackUrl receiver of its webhook
   * @returns the survivor
   */
  async crashAt(
    arm: (crash: () => Promise<void>) => void,
    {
      body = fox,
      headers = {},
      env = {},
      later = false,
      callbackUrl,
    }: {
      body?: object;
      headers?: Readonly<Record<string, string>>;
      env?: Readonly<Record<string, string>>;
      later?: boolean;
      callbackUrl?: string;
    } = {},
  ): Promise<RunningMedia> {
    const child = await this.startChild(env);
    const death = Promise.withResolvers<void>();
    arm(async () => {
      await child.kill();
      death.resolve();
    });
    const asked = later ? generateLater(child, callbackUrl) : generate(child, body, headers);
    const lost = await asked.then(
      ({ status }) => status,
      () => "no answer",
    );
    if (lost !== "no answer" && !(later && lost === 202)) {
      throw new Error(`the request was answered with ${lost}`);
    }
    await death.promise;
    this.billing.before = async () => undefined;
    this.billing.after = async () => undefined;
    const next = await this.startSurvivor();
    await this.settled();
    return next;
  }

  /** A hold was placed, and none is open any more. */
  async settled(): Promise<void> {
    const { billing } = this;
    const done = () => billing.holds.length > 0 && billing.openHolds.length === 0;
    await until(done, { timeoutMs: SETTLED_WITHIN_MS });
  }

  /** The first that was placed. */
  hold(): FakeHold | undefined {
    return this.billing.holds[0];
  }

  /** Hosted files, without drafts. */
  async files(): Promise<string[]> {
    const entries = await readdir(join(this.#dataDir, "media"), { recursive: true });
    return entries.filter((file) => /\.(webp|mp4)$/.test(file));
  }

  /** Returns the files without thumbnails and posters. */
  async outputs(): Promise<string[]> {
    return (await this.files()).filter((file) => !isPreview(file));
  }

  methods(): string[] {
    return this.upstream.requests.map(({ method }) => method);
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      child.resume();
      await child.kill();
    }
    for (const running of this.#inProcess) await running.stop();
    await this.db.end();
    await this.#peers.stop();
    await this.upstream.close();
    await this.#database.drop();
    await rm(this.#dataDir, { recursive: true, force: true });
  }
}

export function generate(
  { url }: RunningMedia,
  body: object = fox,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return postJson(`${url}/v1/compat/images/generations`, body, headers);
}

/** Requests a video without waiting for it. */
export function generateLater({ url }: RunningMedia, callbackUrl?: string): Promise<Answer> {
  const video = { model: "sandbox/video", prompt: "a fox", callback_url: callbackUrl };
  return postJson(`${url}/v1/compat/videos/generations`, video, { prefer: "respond-async" });
}

export async function pictureAnswer(): Promise<FixedAnswer & { body: object }> {
  return { status: 200, body: { data: [{ b64_json: (await drawPicture()).toString("base64") }] } };
}
