// Every simulated provider behind media generation's own adapter over HTTP. The simulator has the wire format, the
// price list and the bill.
import {
  createOutbound,
  type MediaProvider,
  mediaProviders,
  type Outbound,
  type ProviderDefinition,
} from "@gr/media-generation/simulated";
import { type RunningSimulator, startSimulator } from "@gr/simulator";

export interface SimulatedProvider extends Pick<ProviderDefinition, "name" | "abilities" | "reports"> {
  readonly adapter: MediaProvider;
}

export interface SimulatedProviders {
  readonly providers: readonly SimulatedProvider[];
  /** Bill of each request so far, by its id. */
  bills(): Promise<ReadonlyMap<string, bigint>>;
  stop(): Promise<void>;
}

/** Starts them without drawing. */
export async function startSimulatedProviders(): Promise<SimulatedProviders> {
  const simulator = await startSimulator({ host: "127.0.0.1", port: 0, drawing: false });
  const outbound = createOutbound();
  return {
    providers: mediaProviders.flatMap((definition) => {
      const adapter = adapterOf(definition, simulator, outbound);
      return adapter === undefined ? [] : [{ ...definition, adapter }];
    }),
    bills: () => billsOf(simulator.url),
    stop: async () => {
      await outbound.close();
      await simulator.close();
    },
  };
}

/** Undefined if the simulator does not imitate it. */
function adapterOf(
  { settings, credential, baseUrls, create }: ProviderDefinition,
  { url }: RunningSimulator,
  outbound: Outbound,
): MediaProvider | undefined {
  const addresses = Object.entries(baseUrls).map(([variable, at]) => [variable, at?.simulatedAt] as const);
  if (addresses.some(([, path]) => path === undefined)) return undefined;
  const secret = "a-key";
  const variables = addresses.map(([variable, path]) => [variable, `${url}${path}`] as const);
  const parsed = settings.parse({ [credential]: secret, ...Object.fromEntries(variables) });
  return create({ secret, settings: parsed, outbound });
}

async function billsOf(url: string): Promise<Map<string, bigint>> {
  const { items } = (await (await fetch(`${url}/bill`)).json()) as {
    items: { request_id: string; pico_usd: string }[];
  };
  const bills = new Map<string, bigint>();
  for (const { request_id: id, pico_usd: amount } of items) {
    bills.set(id, (bills.get(id) ?? 0n) + BigInt(amount));
  }
  return bills;
}
