// What a platform asks every process: alive, ready, metrics.
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";

export interface Readiness {
  /** Sentences of what is not ready; empty = ready. */
  problems(): Promise<string[]>;
}

export function registerOps(app: FastifyInstance, readiness: Readiness, metrics: Registry): void {
  app.get("/livez", async () => ({ status: "ok" }));
  app.get("/readyz", async (_request, reply) => {
    const problems = await readiness.problems();
    return reply
      .status(problems.length === 0 ? 200 : 503)
      .send({ status: problems.length === 0 ? "ok" : "not ready", problems });
  });
  app.get("/metrics", async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  );
}
