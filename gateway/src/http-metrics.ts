// Requests by route and outcome, and how long they took until their last byte. Labels have few values, always known
// beforehand: a client cannot add series.
import type { FastifyInstance } from "fastify";
import { Counter, Histogram, type Registry } from "prom-client";
import { rowOf } from "./routes.ts";

/** Seconds; generations take minutes. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export function countRequests(app: FastifyInstance, metrics: Registry): void {
  const requests = new Counter({
    name: "http_requests_total",
    help: "Requests to the public API by path prefix and status class",
    labelNames: ["route", "status"],
    registers: [metrics],
  });
  const durations = new Histogram({
    name: "http_request_duration_seconds",
    help: "Time from the head of a request to the last byte of its answer",
    labelNames: ["route"],
    buckets: BUCKETS,
    registers: [metrics],
  });
  app.addHook("onResponse", (request, reply, done) => {
    const route = rowOf(request.raw.url ?? "")?.prefix ?? "other";
    requests.inc({ route, status: `${Math.floor(reply.statusCode / 100)}xx` });
    durations.observe({ route }, reply.elapsedTime / 1_000);
    done();
  });
}
