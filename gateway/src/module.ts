// The gateway as a module: everything that a client's request passes before a module sees it, in this order:
// request id, refusal of ambiguous HTTP, CORS, authentication, rate limits, routing.
import { randomUUIDv7 } from "node:crypto";
import { existsSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import cors from "@fastify/cors";
import { KeysService } from "@gr/proto/keys";
import {
  admitStranger,
  closeHttpApp,
  createHttpApp,
  defineModule,
  drainHttpApp,
  LAST_WORDS_MS,
  listenError,
  openRedis,
  registerScope,
  trustConnection,
} from "@gr/runtime";
import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import { admitRequests } from "./admit-request.ts";
import { compressAnswers } from "./answers/compress-answers.ts";
import { authenticator, strangerFinder } from "./callers/authenticate.ts";
import { SignedInPeople } from "./callers/signed-in-people.ts";
import { VerifiedKeys } from "./callers/verified-keys.ts";
import { type GatewayConfig, gatewayConfig } from "./config.ts";
import { answerLimits, connectionLimits } from "./connections/bound-connections.ts";
import { REFERENCE_PATHS, serveReference } from "./description/api-reference.ts";
import { OPENAPI_PATH, serveOpenApi } from "./description/openapi.ts";
import { LocalRateLimiter } from "./limits/rate-limit-local.ts";
import { RedisRateLimiter } from "./limits/rate-limit-redis.ts";
import { RequestLimits } from "./limits/request-limits.ts";
import { TrustedProxies } from "./network/trusted-proxies.ts";
import { describedModules, failureOf, mountPoints, routeTable, rowOf } from "./routes.ts";
import { openWebApplication, type WebApplication } from "./web-application.ts";

const PREFLIGHT_KEPT_SECONDS = 86_400;

/** Folder of the console's build in a bundle, if the build existed then. */
const BUNDLED_CONSOLE = join(import.meta.dirname, "../console");

/** One year, in seconds. Not for subdomains, which may have another owner. */
const HTTPS_ONLY = { "strict-transport-security": "max-age=31536000" };

/** Headers that browsers show to scripts. */
const EXPOSED_HEADERS = [
  "x-request-id",
  "x-should-retry",
  "retry-after",
  "retry-after-ms",
  "x-ratelimit-limit-requests",
  "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests",
  "idempotency-replayed",
  "location",
  "preference-applied",
];
/** Only pages of the console call its API, with a cookie. */
const NO_FOREIGN_PAGE = /^\/console\//;

/** Seconds; generations need minutes. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

const mounted = mountPoints();

export const gatewayModule = defineModule({
  name: "gateway",
  needs: [...new Set(["keys", ...mounted.keys()])],
  config: gatewayConfig,
  async create({ config, log, clock, metrics, tracing, dial, mount, describeRest }) {
    const { UPLOAD_STALL_MS: stallMs, UPLOAD_MIN_BYTES_PER_SECOND: bytesPerSecond } = config;
    const uploads = { stallMs, bytesPerSecond };
    const proxies = new TrustedProxies(config.TRUSTED_PROXIES, log);
    const app = createHttpApp({
      log,
      requestId: () => randomUUIDv7(),
      uploads,
      connections: connectionLimits(config, proxies, metrics),
      answers: answerLimits(config, metrics),
      headers: config.PUBLIC_BASE_URL?.startsWith("https:") ? HTTPS_ONLY : {},
      tracing,
    });
    countRequests(app, metrics);
    compressAnswers(app);
    // A key is sent by the script itself and never by the browser, so any origin may call.
    await app.register(cors, {
      origin: "*",
      credentials: false,
      methods: ["GET", "HEAD", "POST", "DELETE"],
      exposedHeaders: EXPOSED_HEADERS.join(", "),
      maxAge: PREFLIGHT_KEPT_SECONDS,
      strictPreflight: false,
    });
    // The plugin's choice by request would send Vary: Origin with all answers, so that shared caches keep a copy for each origin.
    app.addHook("onSend", async (request, reply) => {
      if (NO_FOREIGN_PAGE.test(request.url)) reply.removeHeader("access-control-allow-origin");
    });
    const keys = new VerifiedKeys(dial("keys", KeysService), clock);
    const redis = await openRedis(config, { name: "generation-router gateway", log });
    const local = new LocalRateLimiter();
    const limiter = redis === undefined ? local : new RedisRateLimiter(redis, local, log);
    const people = new SignedInPeople(clock);
    const limits = new RequestLimits({ config, limiter, clock, metrics, people, proxies });
    const authenticate = authenticator(keys, [OPENAPI_PATH, ...REFERENCE_PATHS]);
    const pages = await openPages(app, config);
    app.addHook(
      "onRequest",
      admitRequests({ authenticate, isStranger: strangerFinder(keys), limits, proxies, pages }),
    );
    app.addHook("onRequest", (request, reply, done) => {
      if (request.principal === null) admitStranger(request);
      else trustConnection(request, reply);
      done();
    });
    if (pages !== undefined) {
      app.addHook("onRequest", (request, reply, done) => {
        const file = pages.find(request);
        if (file === undefined) done();
        else pages.send(file, reply);
      });
    }
    await registerScope(app, "public routes", async (routes) => {
      routes.setErrorHandler((error, { principal, raw, method }) => {
        throw principal === null ? error : failureOf(raw.url ?? "", method, error);
      });
      for (const [module, points] of mounted) {
        await registerScope(routes, "module", async (scope) => {
          if (points.some(({ signsIn }) => signsIn === true)) {
            scope.addHook("onSend", async (request, reply) => people.learn(request, reply));
          }
          await mount(scope, module, points);
        });
      }
    });
    serveReference(app, { hasGuides: pages?.hasGuides === true });
    serveOpenApi(app, { modules: describedModules(), describeRest, clock });
    return {
      start: () => listen(app, config),
      publicUrl: () => urlOf(config.HOST, (app.server.address() as AddressInfo).port),
      drain: () => drainHttpApp(app, config.STOP_DRAIN_MS),
      stop: async () => {
        await closeHttpApp(app, config.STOP_GRACE_MS + LAST_WORDS_MS);
        redis?.disconnect();
      },
    };
  },
});

function openPages(
  app: FastifyInstance,
  { CONSOLE_DIR: dir, PUBLIC_BASE_URL: api }: GatewayConfig,
): Promise<WebApplication> | undefined {
  const found = dir ?? (existsSync(join(BUNDLED_CONSOLE, "index.html")) ? BUNDLED_CONSOLE : undefined);
  if (found === undefined) return undefined;
  return openWebApplication(app, { dir: found, publicBaseUrl: api });
}

async function listen(app: FastifyInstance, { HOST, PORT }: GatewayConfig): Promise<void> {
  try {
    await app.listen({ host: HOST, port: PORT });
  } catch (error) {
    const settings = { host: "HOST", port: "PORT" };
    throw listenError(error as NodeJS.ErrnoException, settings, { host: HOST, port: PORT });
  }
}

function urlOf(host: string, port: number): string {
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Counts by route and outcome. Labels have few predefined values: a client cannot add series. */
function countRequests(app: FastifyInstance, metrics: Registry): void {
  const requests = new Counter({
    name: "http_requests_total",
    help: "Requests to the public API by path prefix and status class",
    labelNames: ["route", "status"],
    registers: [metrics],
  });
  // Series exist from the start, so that the first failure is an increase and shares have a denominator.
  for (const route of [...routeTable.map(({ prefix }) => prefix), "other"]) {
    for (const status of ["2xx", "4xx", "5xx"]) requests.inc({ route, status }, 0);
  }
  const durations = new Histogram({
    name: "http_request_duration_seconds",
    help: "Time from the head of a request to the last byte of its answer",
    labelNames: ["route"],
    buckets: BUCKETS,
    registers: [metrics],
  });
  let running = 0;
  new Gauge({
    name: "http_requests_running",
    help: "Requests to the public API that are not answered yet",
    registers: [metrics],
    collect() {
      this.set(running);
    },
  });
  app.addHook("onRequest", (_request, _reply, done) => {
    running += 1;
    done();
  });
  app.addHook("onResponse", (request, reply, done) => {
    running -= 1;
    const route = rowOf(request.raw.url ?? "", request.method)?.prefix ?? "other";
    requests.inc({ route, status: `${Math.floor(reply.statusCode / 100)}xx` });
    durations.observe({ route }, reply.elapsedTime / 1_000);
    done();
  });
}
