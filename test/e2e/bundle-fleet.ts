// BundleFleet runs the bundles that the images hold, side by side on one machine, for tests of manifests.
// Each bundle has the environment of its manifest; only addresses and folders differ, because there is one machine.
import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort, startChild, type TestChild } from "@gr/testing";
import { bundleProgram } from "../../scripts/bundle.ts";

interface Place {
  readonly main: string;
  readonly httpPort: number;
  readonly rpcPort: number;
}

export interface Surroundings {
  /** Empty folder of the test. */
  readonly folder: string;
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly simulatorUrl: string;
}

const urlOf = (port: number) => `http://127.0.0.1:${port}`;

export class BundleFleet {
  readonly publicUrl: string;
  readonly #surroundings: Surroundings;
  readonly #places: ReadonlyMap<string, Place>;
  readonly #addresses: Readonly<Record<string, string>>;
  readonly #publicPort: number;
  readonly #started: Promise<TestChild>[] = [];

  private constructor(surroundings: Surroundings, places: ReadonlyMap<string, Place>, publicPort: number) {
    this.#surroundings = surroundings;
    this.#places = places;
    this.#publicPort = publicPort;
    this.publicUrl = urlOf(publicPort);
    this.#addresses = Object.fromEntries(
      [...places].flatMap(([name, { httpPort, rpcPort }]) => {
        const prefix = name.toUpperCase().replaceAll("-", "_");
        return [
          [`${prefix}_HTTP_URL`, urlOf(httpPort)] as const,
          [`${prefix}_RPC_URL`, urlOf(rpcPort)] as const,
        ];
      }),
    );
  }

  /** @param programs names of programs in scripts/bundle.ts */
  static async build(programs: readonly string[], surroundings: Surroundings): Promise<BundleFleet> {
    const places = new Map<string, Place>();
    for (const name of programs) {
      const main = await bundleProgram(name, join(surroundings.folder, name));
      places.set(name, { main, httpPort: await freePort(), rpcPort: await freePort() });
    }
    await mkdir(join(surroundings.folder, "data"));
    return new BundleFleet(surroundings, places, await freePort());
  }

  rpcUrl(name: string): string {
    return urlOf(this.#placeOf(name).rpcPort);
  }

  httpPort(name: string): number {
    return this.#placeOf(name).httpPort;
  }

  /** Starts a service and waits until it is ready. @param env environment of its manifest */
  start(name: string, env: Readonly<Record<string, string>>): Promise<TestChild> {
    const { main, httpPort, rpcPort } = this.#placeOf(name);
    const own = { SERVICE_HOST: "127.0.0.1", SERVICE_RPC_PORT: String(rpcPort), LOG_LEVEL: "silent" };
    const child = startChild(main, { ...this.#here(env), ...this.#addresses, ...own }, httpPort);
    this.#started.push(child);
    return child;
  }

  /** Runs a program to its end. @returns its standard output */
  async run(name: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
    const program = [this.#placeOf(name).main, ...args];
    const options = { env: { ...this.#here(env), ...this.#addresses } };
    return (await promisify(execFile)(process.execPath, program, options)).stdout;
  }

  async stop(): Promise<void> {
    for (const child of this.#started.toReversed()) await (await child.catch(() => undefined))?.kill();
  }

  #placeOf(name: string): Place {
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`the fleet has no bundle of ${name}`);
    return place;
  }

  #here(env: Readonly<Record<string, string>>): Record<string, string> {
    const { folder, databaseUrl, redisUrl, simulatorUrl } = this.#surroundings;
    const values = Object.entries(env).map(
      ([name, value]) => [name, value.replace("http://simulator:8090", simulatorUrl)] as const,
    );
    return {
      ...Object.fromEntries(values),
      ...("DATABASE_URL" in env ? { DATABASE_URL: databaseUrl } : {}),
      ...("REDIS_URL" in env ? { REDIS_URL: redisUrl } : {}),
      ...("DATA_DIR" in env ? { DATA_DIR: join(folder, "data") } : {}),
      ...("HOST" in env ? { HOST: "127.0.0.1", PORT: String(this.#publicPort) } : {}),
    };
  }
}
