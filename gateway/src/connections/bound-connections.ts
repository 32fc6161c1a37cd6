// Connection bounds of the public port: number of connections, idle time, and bytes that wait for their clients.
import type { AnswerLimits, ConnectionLimits } from "@gr/runtime";
import { Counter, type Registry } from "prom-client";
import { type GatewayConfig, waitingBytesOf } from "../config.ts";
import type { TrustedProxies } from "../network/trusted-proxies.ts";
import { connectionOwner } from "./limit-connections.ts";

const CUT_CAUSES = ["stalled", "connection_bytes", "process_bytes"] as const;

export function connectionLimits(
  config: GatewayConfig,
  proxies: Pick<TrustedProxies, "isNamed">,
  metrics: Registry,
): Partial<ConnectionLimits> {
  const refusals = new Counter({
    name: "connection_refusals_total",
    help: "New connections closed at once, because every place had a running request",
    registers: [metrics],
  });
  const idle = new Counter({
    name: "idle_connections_closed_total",
    help: "Idle connections closed in favour of new ones, because all places were in use",
    registers: [metrics],
  });
  const { MAX_CONNECTIONS_PER_ADDRESS: most } = config;
  return {
    mostOfOwner: most === 0 ? Number.POSITIVE_INFINITY : most,
    ownerOf: (address) => (proxies.isNamed(address) ? undefined : connectionOwner(address)),
    closed: (which) => (which === "idle" ? idle : refusals).inc(),
  };
}

export function answerLimits(config: GatewayConfig, metrics: Registry): AnswerLimits {
  const cuts = new Counter({
    name: "answers_cut_total",
    help: "Connections cut because bytes of an answer waited for their client",
    labelNames: ["cause"],
    registers: [metrics],
  });
  for (const cause of CUT_CAUSES) cuts.inc({ cause }, 0);
  const { processBytes, connectionBytes } = waitingBytesOf(config);
  return {
    stallMs: config.ANSWER_STALL_MS,
    bytesPerSecond: config.ANSWER_MIN_BYTES_PER_SECOND,
    processBytes,
    connectionBytes,
    cut: (cause) => cuts.inc({ cause }),
  };
}
