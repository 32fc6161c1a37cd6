// Peers reaches other modules: in this process or over the network. Only this file distinguishes them.
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { FastifyInstance } from "fastify";
import { z } from "zod";
import type { MountPoint } from "./http/forward-request.ts";
import { describeRoutes } from "./http/rest-api.ts";
import { describeRemote, mountLocal, mountRemote, type RemoteRest } from "./http/rest-mount.ts";
import type { ModuleInstance } from "./module.ts";
import type { Clock } from "./process/clock.ts";
import { type Environment, readConfig } from "./process/config.ts";
import { createInProcessTransport } from "./rpc/in-process-transport.ts";
import { PeerSessions } from "./rpc/peer-sessions.ts";
import { audienceOf } from "./rpc/rpc-interceptors.ts";
import { MAX_MESSAGE_BYTES } from "./rpc/rpc-limits.ts";
import { createServiceClient, type RoutedTransport, type ServiceClient } from "./rpc/service-client.ts";
import { signToken } from "./rpc/service-token.ts";
import { traceCalls } from "./rpc/trace-calls.ts";
import { isRefusedStream, type SpreadOptions, SpreadTransport } from "./spread-transport.ts";

const TOKEN_REFRESH_MS = 20_000;
/** Interval of pings on a connection that waits for an answer. */
const PING_INTERVAL_MS = 30_000;
/** Codes of the operating system, as of a name with several addresses that all fail. Codes of Node begin with ERR_. */
const SYSTEM_ERROR = /^E(AI_)?[A-Z]+$/;
/** Tries of one call: several processes may stop one after the other. */
const MOST_TRIES = 3;

interface PeerAddress {
  readonly rpcUrl: string;
  readonly httpUrl: string;
}

/** Returns the names of the address variables of a remote module: MEDIA_GENERATION_RPC_URL, …_HTTP_URL. */
export function addressVariables(module: string): { rpc: string; http: string } {
  const prefix = module.toUpperCase().replaceAll("-", "_");
  return { rpc: `${prefix}_RPC_URL`, http: `${prefix}_HTTP_URL` };
}

/** Addresses of remote modules; by default each is a host of its own name, as in Kubernetes. */
export function readPeerAddresses(
  modules: readonly string[],
  env: Environment,
): { addresses: Map<string, PeerAddress>; problems: string[] } {
  const addresses = new Map<string, PeerAddress>();
  const problems: string[] = [];
  for (const module of modules) {
    const { rpc, http } = addressVariables(module);
    const shape = z.object({
      [rpc]: z.url().default(`http://${module}:8082`),
      [http]: z.url().default(`http://${module}:8081`),
    });
    const result = readConfig(`address of ${module}`, shape, env);
    if ("problems" in result) problems.push(...result.problems);
    else addresses.set(module, { rpcUrl: result.config[rpc] ?? "", httpUrl: result.config[http] ?? "" });
  }
  return { addresses, problems };
}

export interface PeersOptions {
  readonly addresses: ReadonlyMap<string, PeerAddress>;
  /** Interceptors for calls within the process, on the answering side. */
  readonly interceptors: readonly Interceptor[];
  readonly secret: string;
  readonly clock: Clock;
  readonly callTimeoutMs: number;
}

export class Peers {
  readonly #options: PeersOptions;
  readonly #local = new Map<string, ModuleInstance>();
  readonly #transports = new Map<string, Transport>();

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  addLocal(module: string, instance: ModuleInstance): void {
    this.#local.set(module, instance);
  }

  dial<Desc extends DescService>(module: string, desc: Desc): ServiceClient<Desc> {
    return createServiceClient(desc, module, this.#transport(module), this.#options.callTimeoutMs);
  }

  async mount(app: FastifyInstance, module: string, points: readonly MountPoint[]): Promise<void> {
    const local = this.#local.get(module);
    if (local === undefined) await mountRemote(app, points, this.#remoteRest(module));
    else if (local.rest !== undefined) await mountLocal(app, points, local.rest);
  }

  async describeRest(module: string): Promise<Record<string, object>> {
    const local = this.#local.get(module);
    if (local === undefined) return describeRemote(this.#remoteRest(module));
    return local.rest === undefined ? {} : describeRoutes(local.rest);
  }

  #remoteRest(module: string): RemoteRest {
    const { secret, clock } = this.#options;
    return { module, baseUrl: this.#address(module).httpUrl, secret, clock };
  }

  #address(module: string): PeerAddress {
    const address = this.#options.addresses.get(module);
    if (address === undefined) throw new Error(`"${module}" is not among the needs of any module here`);
    return address;
  }

  #transport(module: string): Transport {
    const known = this.#transports.get(module);
    if (known !== undefined) return known;
    const local = this.#local.get(module);
    const transport =
      local === undefined
        ? createRemoteTransport(this.#address(module).rpcUrl, this.#options.secret, this.#options.clock)
        : createInProcessTransport(local.rpc ?? [], [traceCalls, ...this.#options.interceptors]);
    this.#transports.set(module, transport);
    return transport;
  }
}

/**
 * Creates a transport to the RPC ports of the processes of a module, with a service token on every call.
 * @param resolve replaces the addresses of the host
 */
export function createRemoteTransport(
  rpcUrl: string,
  secret: string,
  clock: Clock,
  resolve?: SpreadOptions["resolve"],
): RoutedTransport {
  const interceptors = [traceCalls, bearServiceToken(secret, clock), repeatRefused, reportSilence];
  const connect = (baseUrl: string) =>
    createConnectTransport({
      baseUrl,
      httpVersion: "2",
      useBinaryFormat: true,
      readMaxBytes: MAX_MESSAGE_BYTES,
      writeMaxBytes: MAX_MESSAGE_BYTES,
      sessionManager: new PeerSessions(baseUrl, { pingIntervalMs: PING_INTERVAL_MS }),
      interceptors,
    });
  return new SpreadTransport({ url: rpcUrl, clock, connect, ...(resolve && { resolve }) });
}

/**
 * Repeats refused calls. In HTTP/2 a stopping server may refuse requests that it has not read. Such a request was never
 * carried out, so it is safe on a new connection, to another process.
 */
const repeatRefused: Interceptor = (next) => async (request) => {
  for (let tries = 1; ; tries += 1) {
    try {
      return await next(request);
    } catch (error) {
      if (request.stream || tries === MOST_TRIES || !isRefusedStream(error)) throw error;
    }
  }
};

/**
 * Reports errors of the operating system as silence of the other process. The library has the code of a defect for errors outside of its
 * list, such as EHOSTUNREACH.
 */
export const reportSilence: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    const { code, rawMessage, cause } = ConnectError.from(error);
    if (code !== Code.Internal || !SYSTEM_ERROR.test(String((cause as { code?: unknown })?.code)))
      throw error;
    throw new ConnectError(rawMessage, Code.Unavailable, undefined, undefined, cause);
  }
};

/** Adds the service token to every call; one token serves one method for some time. */
function bearServiceToken(secret: string, clock: Clock): Interceptor {
  const tokens = new Map<string, { readonly token: string; readonly at: number }>();
  return (next) => (request) => {
    const audience = audienceOf(request);
    let known = tokens.get(audience);
    if (known === undefined || clock.now() - known.at > TOKEN_REFRESH_MS) {
      known = { token: signToken(secret, audience, "", clock), at: clock.now() };
      tokens.set(audience, known);
    }
    request.header.set("authorization", `Bearer ${known.token}`);
    return next(request);
  };
}
