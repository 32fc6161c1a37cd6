// Who may talk to whom: the edges among the services, as their modules' `needs` say, and the ports that each has.
import type { Module } from "@gr/runtime";

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly port: number;
}

/** Of the public API. */
const PUBLIC = 8080;
/** What the gateway forwards to. */
const INTERNAL = 8081;
const RPC = 8082;
const GATEWAY = "gateway";

/** The ports that a pod of the service listens on. */
export const portsOf = (name: string): readonly number[] =>
  name === GATEWAY ? [PUBLIC, INTERNAL] : [INTERNAL, RPC];

/** The gateway forwards to all that it needs, and asks keys; everyone else only calls. */
export function wantedEdges(modules: readonly Module[]): Edge[] {
  return modules.flatMap(({ name, needs }) =>
    needs.flatMap((to) => {
      const ports = name !== GATEWAY ? [RPC] : to === "keys" ? [INTERNAL, RPC] : [INTERNAL];
      return ports.map((port) => ({ from: name, to, port }));
    }),
  );
}

/** Every way from a service to a port of a service, its own kind included. */
export function allEdges(modules: readonly Module[]): Edge[] {
  const names = modules.map(({ name }) => name);
  return names.flatMap((from) =>
    names.flatMap((to) => portsOf(to).map((port): Edge => ({ from, to, port }))),
  );
}

export const sayEdge = ({ from, to, port }: Edge) => `${from} → ${to} ${port}`;
