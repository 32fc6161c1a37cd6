// Whether the network policies are enforced as they are written: from the place of a pod of each service, every port of every
// service is tried. Those that its module needs must be open, all others closed.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { routerModules } from "@gr/all-in-one";
import { type Command, run, until } from "./commands.ts";
import { kubectlOf } from "./control-plane.ts";
import { NAMESPACE } from "./deploy-router.ts";
import type { Places } from "./layout.ts";
import { allEdges, type Edge, sayEdge, wantedEdges } from "./service-edges.ts";

const NETWORKS = "/run/netns";
/** A new pod's rules come some moments after its start. */
const SECONDS = 300;
const CONNECT = join(import.meta.dirname, "connect.ts");

interface Pod {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly status: { readonly podIP?: string };
}

/** @returns how many are open and closed @throws Error that names those that are not as they should be */
export async function tryEveryEdge(places: Places): Promise<string> {
  const wanted = new Set(wantedEdges(routerModules).map(sayEdge));
  const edges = allEdges(routerModules);
  const addresses = await addressesOfPods(places);
  const networks = await networksByAddress();
  // A closed port would look like an enforced policy; the node itself may reach all of them.
  await until("every port from the node", SECONDS, async () => {
    const targets = edges.map(({ to, port }) => `${targetOf(addresses, to)}:${port}`);
    const open = await openFrom([], targets);
    const silent = edges.filter((_, at) => !open.has(targets[at] ?? ""));
    if (silent.length > 0) throw new Error(`nobody listens: ${silent.map(sayEdge).join(", ")}`);
  });
  await until("the network policies", SECONDS, async () => {
    const wrong: string[] = [];
    for (const [from, own] of Map.groupBy(edges, (edge) => edge.from)) {
      const network = networks.get(sourceOf(addresses, from));
      if (network === undefined) throw new Error(`${from} has no network`);
      const targets = own.map(({ to, port }) => `${targetOf(addresses, to)}:${port}`);
      const open = await openFrom(["nsenter", `--net=${network}`], targets);
      wrong.push(
        ...own
          .filter((edge, at) => open.has(targets[at] ?? "") !== wanted.has(sayEdge(edge)))
          .map(sayIs(wanted)),
      );
    }
    if (wrong.length > 0) throw new Error(wrong.join(", "));
  });
  return `${wanted.size} edges open, ${edges.length - wanted.size} closed`;
}

const sayIs = (wanted: ReadonlySet<string>) => (edge: Edge) =>
  `${sayEdge(edge)} is ${wanted.has(sayEdge(edge)) ? "closed" : "open"}`;

/** @returns of each service the addresses of its pods, in one order */
async function addressesOfPods(places: Places): Promise<ReadonlyMap<string, readonly string[]>> {
  const words = ["-l", "app.kubernetes.io/component=service", "--namespace", NAMESPACE, "-o", "json"];
  const { items } = JSON.parse(await kubectlOf(places)("get", "pod", ...words)) as { items: Pod[] };
  const running = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const named = Map.groupBy(running, ({ metadata }) => metadata.labels["app.kubernetes.io/name"] ?? "");
  return new Map(
    [...named].map(([name, pods]) => [name, pods.map(({ status }) => status.podIP ?? "").sort()]),
  );
}

/** One pod calls and another one is called, so that a service's way to its own kind is tried, too. */
const sourceOf = (addresses: ReadonlyMap<string, readonly string[]>, name: string) =>
  addresses.get(name)?.at(0) ?? "";
function targetOf(addresses: ReadonlyMap<string, readonly string[]>, name: string): string {
  const [, address] = addresses.get(name) ?? [];
  if (address === undefined) throw new Error(`${name} has fewer than two pods`);
  return address;
}

/** @returns the file of each pod's network, by the pod's address */
async function networksByAddress(): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  for (const name of await readdir(NETWORKS)) {
    const path = join(NETWORKS, name);
    const links = await run(["nsenter", `--net=${path}`, "ip", "-json", "-4", "address", "show"]);
    for (const { addr_info: own } of JSON.parse(links) as { addr_info: { local: string }[] }[])
      for (const { local } of own) found.set(local, path);
  }
  return found;
}

/** @returns those that a connection came about to */
async function openFrom(before: readonly string[], targets: readonly string[]): Promise<ReadonlySet<string>> {
  const command = [...before, process.execPath, CONNECT, ...new Set(targets)];
  return new Set(JSON.parse(await run(command as unknown as Command)) as string[]);
}
