// The split topology has one child process per module, each with its own two internal ports. Only the addresses differ
// from the all-in-one topology. All share a Redis: the configured one, else a private one that stores nothing. Without
// any Redis each gateway counts its limits alone.
import { fileURLToPath } from "node:url";
import { EmbeddedError, freePort, type RedisServer, startRedis } from "@gr/embedded";
import {
  addressVariables,
  createRemoteTransport,
  createServiceClient,
  type Environment,
  longestStopMs,
  type RunningProcess,
  systemClock,
} from "@gr/runtime";
import type { Started } from "./all-in-one.ts";
import { banner, type Screen } from "./first-start/banner.ts";
import { ensureDemoAccount } from "./first-start/demo-account.ts";
import { ensureDemoOwner } from "./first-start/demo-owner.ts";
import { textImportNote } from "./first-start/text-import-note.ts";
import { openInstallation } from "./installation/installation.ts";
import { keepServer } from "./installation/kept-server.ts";
import { writeRuntimeFile } from "./installation/runtime-file.ts";
import { routerModules } from "./modules.ts";
import { type ServiceProcess, startServiceProcess } from "./service-process.ts";

const CACHE = fileURLToPath(new URL("../../../.tools", import.meta.url));

interface Place {
  readonly module: string;
  readonly needs: readonly string[];
  readonly httpUrl: string;
  readonly rpcUrl: string;
  readonly env: Environment;
}

/** @throws OperatorError if a part is missing or broken; no part keeps running. */
export async function startSplit(env: Environment, screen: Screen): Promise<Started> {
  const installation = await openInstallation(env);
  const { config, publicUrl } = installation;
  const children: ServiceProcess[] = [];
  let redis: SplitRedis | undefined;
  const stop = async () => {
    // A service stops before the services that it needs.
    for (const child of children.toReversed()) await child.stop();
    await redis?.close();
    await installation.close();
  };
  try {
    redis = await openRedis(env, (sentence) => process.stderr.write(`${sentence}\n`));
    const shared = { ...installation.env, ...redis.env };
    const places = await Promise.all(
      routerModules.map(({ name, needs }) => placeOf(name, needs, config.PORT)),
    );
    const addresses = Object.assign({}, ...places.map(addressesOf));
    for (const place of inNeedOrder(places)) {
      children.push(
        await startServiceProcess({
          name: place.module,
          entry: entryOf(place.module),
          env: { ...shared, ...addresses, ...place.env },
          readyUrl: `${place.httpUrl}/readyz`,
          stopGraceMs: longestStopMs(config),
        }),
      );
    }
    const rpcUrl = (module: string) => places.find((place) => place.module === module)?.rpcUrl ?? "";
    const secret = installation.env["INTERNAL_AUTH_SECRET"] ?? "";
    await writeRuntimeFile(config.DATA_DIR, {
      rpc_urls: {
        keys: rpcUrl("keys"),
        billing: rpcUrl("billing"),
        catalog: rpcUrl("catalog"),
        console: rpcUrl("console"),
        "media-generation": rpcUrl("media-generation"),
        "text-proxy": rpcUrl("text-proxy"),
      },
      internal_auth_secret: secret,
      addresses: { ...addresses, ...redisAddress(shared) },
    });
    const dial: RunningProcess["dial"] = (module, service) =>
      createServiceClient(service, module, createRemoteTransport(rpcUrl(module), secret, systemClock));
    const demo = await ensureDemoAccount(config.DATA_DIR, publicUrl, dial);
    const signInLink = await ensureDemoOwner(demo.credentials.account_id, dial, screen);
    const textNote = await textImportNote(dial);
    const database = installation.embeddedPostgres
      ? `embedded PostgreSQL, data in ${config.DATA_DIR}`
      : "as set in DATABASE_URL";
    const { simulatorUrl } = installation;
    const facts = { baseUrl: publicUrl, simulatorUrl, database, textNote, demo, signInLink };
    screen.print(
      banner({ ...facts, onTerminal: screen.isTerminal, topology: `${children.length} processes` }),
    );
    // They stop one after the other, each within this time.
    const stopGraceMs = children.length * longestStopMs(config);
    return { baseUrl: publicUrl, stopGraceMs, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function placeOf(module: string, needs: readonly string[], publicPort: number): Promise<Place> {
  const [http, rpc] = [await internalPort(publicPort), await internalPort(publicPort)];
  return {
    module,
    needs,
    httpUrl: `http://127.0.0.1:${http}`,
    rpcUrl: `http://127.0.0.1:${rpc}`,
    env: { SERVICE_HTTP_PORT: String(http), SERVICE_RPC_PORT: String(rpc) },
  };
}

/** Returns a free port that differs from the gateway's. */
async function internalPort(publicPort: number): Promise<number> {
  const port = await freePort();
  return port === publicPort ? freePort() : port;
}

function addressesOf({ module, httpUrl, rpcUrl }: Place): Environment {
  const names = addressVariables(module);
  return { [names.http]: httpUrl, [names.rpc]: rpcUrl };
}

function redisAddress({ REDIS_URL: url }: Environment): Environment {
  return url === undefined ? {} : { REDIS_URL: url };
}

/**
 * Sorts by number of needs, which is enough here: a service waits for its peers anyway, this only shortens the wait.
 */
function inNeedOrder(places: readonly Place[]): Place[] {
  return places.toSorted((a, b) => a.needs.length - b.needs.length);
}

function entryOf(module: string): string {
  return fileURLToPath(import.meta.resolve(`@gr/${module}/main`));
}

interface SplitRedis {
  /** Environment of the modules for this Redis. */
  readonly env: Environment;
  close(): Promise<void>;
}

/** @param tell receives one sentence about a missing Redis with the reason, or about its death */
async function openRedis(outer: Environment, report: (sentence: string) => void): Promise<SplitRedis> {
  const none = { env: {}, close: async () => undefined };
  if (outer["REDIS_URL"]) return none;
  try {
    const redis = await keepServer("Redis", startAt, report);
    return { env: { REDIS_URL: redis.url }, close: () => redis.stop() };
  } catch (error) {
    if (!(error instanceof EmbeddedError)) throw error;
    report(`${error.message} Until then the gateway counts its limits alone.`);
    return none;
  }
}

/** Restarts at the same address, which contains the constant values: port and password. */
function startAt(url: string | undefined): Promise<RedisServer> {
  if (url === undefined) return startRedis({ cacheDir: CACHE });
  const { port, password } = new URL(url);
  return startRedis({ cacheDir: CACHE, port: Number(port), password });
}
