// The gateway over real HTTP in front of fake modules, in both topologies: everything in one process, or a process
// each with network addresses. A test that passes in one must pass in the other.
import { type Environment, type Module, type RunningProcess, startProcess, type Timer } from "@gr/runtime";
import { ManualClock } from "@gr/testing";
import { gatewayModule } from "../module.ts";
import { FakeKeys } from "./fake-keys.ts";
import { fakeModules, Stage } from "./fake-modules.ts";

export const topologies = ["one process", "a process each"] as const;
export type Topology = (typeof topologies)[number];

export interface Ring {
  readonly baseUrl: string;
  readonly keys: FakeKeys;
  readonly stage: Stage;
  /** Returns the answer to GET /metrics on the gateway's internal port. */
  metrics(): Promise<string>;
  /** Stops the process of one module; only where it has one of its own. */
  stopModule(name: string): Promise<void>;
  stopGateway(): Promise<void>;
  stop(): Promise<void>;
}

const SECRET = "a secret for tests that is long enough";

const base: Environment = {
  HOST: "127.0.0.1",
  PORT: "0",
  SERVICE_HTTP_PORT: "0",
  SERVICE_RPC_PORT: "0",
  INTERNAL_AUTH_SECRET: SECRET,
  LOG_LEVEL: "silent",
  // Tests send faster than people; those of the limits set their own.
  RATE_LIMIT_TEXT_PER_SECOND: "10000",
  RATE_LIMIT_MEDIA_PER_SECOND: "10000",
  RATE_LIMIT_OTHER_PER_SECOND: "10000",
  RATE_LIMIT_ANONYMOUS_PER_SECOND: "10000",
  RATE_LIMIT_DOWNLOADS_PER_SECOND: "10000",
};

/**
 * @param settings of the gateway.
 * @param clock frozen by default: entries with a lifetime of seconds survive on a slow machine.
 */
export async function startRing(
  topology: Topology,
  settings: Environment = {},
  clock: Timer = new ManualClock(Date.now()),
): Promise<Ring> {
  const keys = new FakeKeys();
  const stage = new Stage();
  const fakes = fakeModules(keys, stage);
  const split = new Map<string, RunningProcess>();
  const gateway =
    topology === "one process"
      ? await startProcess([...fakes, gatewayModule], { env: { ...base, ...settings }, clock })
      : await startEach(fakes, split, settings, clock);
  const stopModule = async (name: string) => {
    await split.get(name)?.stop();
  };
  return {
    baseUrl: gateway.publicUrl("gateway") ?? "",
    keys,
    stage,
    metrics: async () => (await fetch(`http://127.0.0.1:${gateway.httpPort}/metrics`)).text(),
    stopModule,
    stopGateway: () => gateway.stop(),
    stop: async () => {
      stage.released.resolve();
      await gateway.stop();
      await Promise.all([...split.keys()].map(stopModule));
    },
  };
}

async function startEach(
  fakes: readonly Module[],
  split: Map<string, RunningProcess>,
  settings: Environment,
  clock: Timer,
) {
  const addresses: Record<string, string> = {};
  for (const module of fakes) {
    const running = await startProcess([module], { env: base, clock });
    split.set(module.name, running);
    const name = module.name.toUpperCase().replaceAll("-", "_");
    addresses[`${name}_RPC_URL`] = `http://127.0.0.1:${running.rpcPort}`;
    addresses[`${name}_HTTP_URL`] = `http://127.0.0.1:${running.httpPort}`;
  }
  return startProcess([gatewayModule], { env: { ...base, ...addresses, ...settings }, clock });
}
