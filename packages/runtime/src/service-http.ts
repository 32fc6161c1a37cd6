// Service HTTP is the internal port of a process: REST of its modules for the gateway, their OpenAPI parts, and the
// platform's checks (alive, ready, metrics). Nothing here is public.
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { FastifyInstance } from "fastify";
import type { Registry } from "prom-client";
import { buildInfo } from "./build-info.ts";
import { isUuid } from "./database/uuid.ts";
import { closeHttpApp, createHttpApp, drainHttpApp } from "./http/http-app.ts";
import { describeRoutes, type RestApi } from "./http/rest-api.ts";
import { DESCRIBE_PATH, serveForwarded } from "./http/rest-mount.ts";
import type { Clock } from "./process/clock.ts";
import { listenError } from "./process/listen.ts";
import type { Logger } from "./process/logger.ts";
import { REQUEST_ID_HEADER } from "./rpc/rpc-interceptors.ts";
import type { Tracing } from "./telemetry/tracing.ts";

export interface ServiceHttpOptions {
  readonly host: string;
  readonly port: number;
  readonly modules: readonly { name: string; rest: RestApi | undefined }[];
  readonly trust: { trustedSecrets: readonly string[]; clock: Clock };
  readonly readiness: Readiness;
  readonly log: Logger;
  readonly metrics: Registry;
  readonly tracing?: Tracing | undefined;
}

export async function startServiceHttp(options: ServiceHttpOptions) {
  const app = createHttpApp({
    log: options.log,
    tracing: options.tracing,
    origin: "inside",
    // The gateway's id is kept, so that one request has one id everywhere.
    requestId: ({ headers }) => {
      const sent = headers[REQUEST_ID_HEADER];
      return typeof sent === "string" && isUuid(sent) ? sent.toLowerCase() : randomUUID();
    },
  });
  registerOps(app, options.readiness, options.metrics);
  for (const { name, rest } of options.modules) {
    if (rest === undefined) continue;
    await serveForwarded(app, name, rest, options.trust);
  }
  // On demand: most starts are never asked, and schemas of all routes need a tenth of a second.
  app.get(DESCRIBE_PATH, async () =>
    Object.fromEntries(
      options.modules.flatMap(({ name, rest }) => (rest === undefined ? [] : [[name, describeRoutes(rest)]])),
    ),
  );
  try {
    await app.listen({ host: options.host, port: options.port });
  } catch (error) {
    await app.close();
    const settings = { host: "SERVICE_HOST", port: "SERVICE_HTTP_PORT" };
    throw listenError(error as NodeJS.ErrnoException, settings, options);
  }
  return {
    port: (app.server.address() as AddressInfo).port,
    drain: (forMs: number) => drainHttpApp(app, forMs),
    close: (graceMs: number) => closeHttpApp(app, graceMs),
  };
}

export interface Readiness {
  /** Returns a sentence for each part that is not ready; empty = ready. */
  problems(): Promise<string[]>;
}

function registerOps(app: FastifyInstance, readiness: Readiness, metrics: Registry): void {
  app.get("/livez", async () => ({ status: "ok", ...buildInfo }));
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
