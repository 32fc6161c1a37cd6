// This file owns the allowed connections between services: the edges that the `needs` of their modules declare, and the ports
// of each service.
import type { Module } from "@gr/runtime";

export interface Edge {
  readonly from: string;
  readonly to: string;
  readonly port: number;
}

/** Port of the public API. */
const PUBLIC = 8080;
/** Port that the gateway forwards requests to. */
const INTERNAL = 8081;
const RPC = 8082;
const GATEWAY = "gateway";

/** Returns the ports that a pod of the service listens on. */
export const portsOf = (name: string): readonly number[] =>
  name === GATEWAY ? [PUBLIC, INTERNAL] : [INTERNAL, RPC];

/** Returns the allowed edges. The gateway forwards to each service that it needs, and calls keys; all others only call RPCs. */
export function wantedEdges(modules: readonly Module[]): Edge[] {
  return modules.flatMap(({ name, needs }) =>
    needs.flatMap((to) => {
      const ports = name !== GATEWAY ? [RPC] : to === "keys" ? [INTERNAL, RPC] : [INTERNAL];
      return ports.map((port) => ({ from: name, to, port }));
    }),
  );
}

/** Returns an edge from each service to each port of each service, its own included. */
export function allEdges(modules: readonly Module[]): Edge[] {
  const names = modules.map(({ name }) => name);
  return names.flatMap((from) =>
    names.flatMap((to) => portsOf(to).map((port): Edge => ({ from, to, port }))),
  );
}

export const sayEdge = ({ from, to, port }: Edge) => `${from} → ${to} ${port}`;
