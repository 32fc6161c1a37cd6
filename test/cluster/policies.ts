// This file checks that the cluster enforces the network policies as they are written. It tries every port of every service from
// the network of a pod of each service. The ports that its module needs must be open, all others closed.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { routerModules } from "@gr/all-in-one";
import { type Command, run, until } from "./commands.ts";
import { kubectlOf } from "./control-plane.ts";
import { NAMESPACE } from "./deploy-router.ts";
import type { Places } from "./layout.ts";
import { allEdges, type Edge, sayEdge, wantedEdges } from "./service-edges.ts";

const NETWORKS = "/run/netns";
/** Longest wait for the rules of a new pod, which the firewall adds some moments after its start. */
const SECONDS = 300;
const CONNECT = join(import.meta.dirname, "connect.ts");

interface Pod {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly status: { readonly podIP?: string };
}

/** @returns the numbers of open and closed edges @throws Error that names each edge in the wrong state */
export async function tryEveryEdge(places: Places): Promise<string> {
  const wanted = new Set(wantedEdges(routerModules).map(sayEdge));
  const edges = allEdges(routerModules);
  const addresses = await addressesOfPods(places);
  const networks = await networksByAddress();
  // The node may reach all ports, so it shows that each service listens. A port without a listener would look like a closed one.
  await until("every port from the node", SECONDS, async () => {
    const targets = edges.map(({ to, port }) => `${targetOf(addresses, to)}:${port}`);
    const open = await openFrom([], targets);
    const silent = edges.filter((_, at) => !open.has(targets[at] ?? ""));
    if (silent.length > 0) throw new Error(`no listener: ${silent.map(sayEdge).join(", ")}`);
  });
  await until("the network policies", SECONDS, async () => {
    const wrong: string[] = [];
    for (const [from, own] of Map.groupBy(edges, (edge) => edge.from)) {
      const network = networks.get(sourceOf(addresses, from));
      if (network === undefined) throw new Error(`the pod of ${from} has no network`);
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

/** @returns the addresses of the pods of each service, sorted */
async function addressesOfPods(places: Places): Promise<ReadonlyMap<string, readonly string[]>> {
  const words = ["-l", "app.kubernetes.io/component=service", "--namespace", NAMESPACE, "-o", "json"];
  const { items } = JSON.parse(await kubectlOf(places)("get", "pod", ...words)) as { items: Pod[] };
  const running = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const named = Map.groupBy(running, ({ metadata }) => metadata.labels["app.kubernetes.io/name"] ?? "");
  return new Map(
    [...named].map(([name, pods]) => [name, pods.map(({ status }) => status.podIP ?? "").sort()]),
  );
}

/** The first pod of a service calls, and the second listens, so that a connection between pods of one service is tried, too. */
const sourceOf = (addresses: ReadonlyMap<string, readonly string[]>, name: string) =>
  addresses.get(name)?.at(0) ?? "";
function targetOf(addresses: ReadonlyMap<string, readonly string[]>, name: string): string {
  const [, address] = addresses.get(name) ?? [];
  if (address === undefined) throw new Error(`${name} has fewer than two pods`);
  return address;
}

/** @returns the path of each pod's network namespace, by the pod's address */
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

/** @returns the targets that accepted a connection */
async function openFrom(before: readonly string[], targets: readonly string[]): Promise<ReadonlySet<string>> {
  const command = [...before, process.execPath, CONNECT, ...new Set(targets)];
  return new Set(JSON.parse(await run(command as unknown as Command)) as string[]);
}
