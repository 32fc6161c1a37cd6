// A router like in a cluster: a process for each service behind a stable address. A successor replaces each process
// like a rolling update: the new one is ready before the old one gets the signal to stop.
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { addressVariables, pause } from "@gr/runtime";
import {
  freePort,
  startChild,
  type TestChild,
  type TestDatabase,
  testDatabase,
  testRedis,
} from "@gr/testing";
import { expect } from "@jest/globals";
import { ROOT } from "../../scripts/tool.ts";
import { answered } from "../chaos/answered.ts";
import type { RunningLoad } from "../chaos/load.ts";
import { ServiceDoor } from "./service-door.ts";

/** In the order of an upgrade: a callee precedes its callers. */
export const SERVICES = [
  "billing",
  "keys",
  "catalog",
  "media-generation",
  "text-proxy",
  "console",
  "gateway",
] as const;
export type Service = (typeof SERVICES)[number];
export const TABLES: readonly Service[] = ["billing", "keys", "catalog", "media-generation", "console"];

/** Returns the file of a service for Node. */
export type Build = (service: Service) => string;
/** This version, from its source. */
export const ours: Build = (service) =>
  join(ROOT, service === "gateway" ? service : `services/${service}`, "src/main.ts");

/** Milliseconds in which a process reaches the wait for its tables. */
const WAITS_AFTER_MS = 3_000;

/** Milliseconds above the life of an idle connection between services, as in a cluster. */
const DRAIN_MS = 8_000;

export type Settings = Readonly<Record<string, string>>;

interface Pod {
  readonly child: TestChild;
  readonly http: number;
  readonly rpc: number;
  /** Port of the gateway. */
  readonly open: number;
}

interface Doors {
  readonly http: ServiceDoor;
  readonly rpc: ServiceDoor;
}

/** Waits until a process that starts waits for its tables. @throws its error, if it ends before */
async function waiting(starting: Promise<unknown>): Promise<void> {
  await Promise.race([starting, pause(WAITS_AFTER_MS)]);
}

export class Fleet {
  readonly dataDir: string;
  readonly #doors = new Map<Service, Doors>();
  readonly #pods = new Map<Service, Pod>();
  readonly #open: ServiceDoor;
  readonly #database: TestDatabase;
  readonly #redisUrl: string;
  #settings: Settings;

  private constructor(
    dataDir: string,
    open: ServiceDoor,
    database: TestDatabase,
    redisUrl: string,
    settings: Settings,
  ) {
    this.dataDir = dataDir;
    this.#open = open;
    this.#database = database;
    this.#redisUrl = redisUrl;
    this.#settings = settings;
  }

  /** Creates a fleet without processes. */
  static async plan(settings: Settings): Promise<Fleet> {
    const dataDir = await mkdtemp(join(tmpdir(), "fleet-"));
    const { url } = await testRedis();
    const open = await ServiceDoor.open();
    const fleet = new Fleet(dataDir, open, await testDatabase("empty"), url, settings);
    for (const service of SERVICES) {
      fleet.#doors.set(service, { http: await ServiceDoor.open(), rpc: await ServiceDoor.open() });
    }
    return fleet;
  }

  get baseUrl(): string {
    return this.#open.url;
  }

  /** Migrates like the Jobs of a deployment. */
  async migrate(build: Build, services = TABLES): Promise<void> {
    for (const service of services) {
      await promisify(execFile)(process.execPath, [build(service), "migrate"], { env: this.#environment() });
    }
  }

  async startAll(build: Build): Promise<void> {
    for (const service of SERVICES) await this.#join(service, await this.#start(service, build));
    await this.tell();
  }

  /** Publishes the addresses for the operator's commands. */
  async tell(): Promise<void> {
    const urls = Object.fromEntries(SERVICES.map((service) => [service, this.#doorsOf(service).rpc.url]));
    await writeFile(
      join(this.dataDir, "runtime.json"),
      JSON.stringify({ rpc_urls: urls, internal_auth_secret: this.#settings["INTERNAL_AUTH_SECRET"] }),
    );
  }

  /** Changes the settings of processes that start from now on. */
  set(settings: Settings): void {
    this.#settings = { ...this.#settings, ...settings };
  }

  /**
   * Replaces one process by another; the old one must end with exit code 0.
   * @param count of the orders that are answered while both serve
   */
  async replace(service: Service, build: Build, load: RunningLoad, count: number): Promise<void> {
    const old = this.#podOf(service);
    await this.#join(service, await this.#start(service, build));
    await answered(load, count);
    this.#leave(service, old);
    expect({ service, code: await old.child.stop() }).toEqual({ service, code: 0 });
  }

  /**
   * Replaces one process whose migration ends the writes of the version before. The new one waits for its tables, so it is ready
   * at once, and the old one stops.
   * @returns the time of the stop, Unix milliseconds
   */
  async replaceWithStop(service: Service, build: Build): Promise<{ from: number; until: number }> {
    const old = this.#podOf(service);
    const starting = this.#start(service, build);
    await waiting(starting);
    const from = Date.now();
    await this.migrate(build, [service]);
    await this.#join(service, await starting);
    this.#leave(service, old);
    expect({ service, code: await old.child.stop() }).toEqual({ service, code: 0 });
    return { from, until: Date.now() };
  }

  /** Replaces all at once: new processes of every service start, then the old ones end. */
  async replaceAll(build: Build, load: RunningLoad, count: number): Promise<void> {
    const old = new Map(this.#pods);
    for (const service of SERVICES) await this.#join(service, await this.#start(service, build));
    await answered(load, count);
    for (const [service, pod] of old) this.#leave(service, pod);
    const ends = [...old].map(async ([service, { child }]) => ({ service, code: await child.stop() }));
    expect(await Promise.all(ends)).toEqual([...old.keys()].map((service) => ({ service, code: 0 })));
  }

  async close(): Promise<void> {
    for (const service of SERVICES.toReversed()) await this.#pods.get(service)?.child.stop();
    for (const { http, rpc } of this.#doors.values()) await Promise.all([http.close(), rpc.close()]);
    await this.#open.close();
    await this.#database.drop();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  async #start(service: Service, build: Build): Promise<Pod> {
    const [http, rpc, open] = [await freePort(), await freePort(), await freePort()];
    const env = { ...this.#environment(), SERVICE_RPC_PORT: String(rpc), PORT: String(open) };
    return { child: await startChild(build(service), env, http), http, rpc, open };
  }

  async #join(service: Service, pod: Pod): Promise<void> {
    const { http, rpc } = this.#doorsOf(service);
    http.add(pod.http);
    rpc.add(pod.rpc);
    if (service === "gateway") this.#open.add(pod.open);
    this.#pods.set(service, pod);
  }

  #leave(service: Service, pod: Pod): void {
    const { http, rpc } = this.#doorsOf(service);
    http.remove(pod.http);
    rpc.remove(pod.rpc);
    this.#open.remove(pod.open);
  }

  #doorsOf(service: Service): Doors {
    const doors = this.#doors.get(service);
    if (doors === undefined) throw new Error(`${service} has no address`);
    return doors;
  }

  #podOf(service: Service): Pod {
    const pod = this.#pods.get(service);
    if (pod === undefined) throw new Error(`${service} does not run`);
    return pod;
  }

  #environment(): Record<string, string> {
    const addresses = SERVICES.flatMap((service) => {
      const { http, rpc } = this.#doorsOf(service);
      const names = addressVariables(service);
      return [[names.http, http.url] as const, [names.rpc, rpc.url] as const];
    });
    return {
      ...Object.fromEntries(addresses),
      DATABASE_URL: this.#database.url,
      REDIS_URL: this.#redisUrl,
      DATA_DIR: this.dataDir,
      PUBLIC_BASE_URL: this.baseUrl,
      CONSOLE_URL: this.baseUrl,
      HOST: "127.0.0.1",
      LOG_LEVEL: "error",
      STOP_DRAIN_MS: String(DRAIN_MS),
      ...this.#settings,
    };
  }
}
