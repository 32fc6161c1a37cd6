// Fake modules replace the real ones. Each route reports the request that it received, so that a test can compare it
// with the sent one. Some fail, stream, or wait on command.
import { Readable } from "node:stream";
import { isReason, ServiceError } from "@gr/proto";
import {
  anyone,
  type BodyRules,
  ByteBudget,
  defineModule,
  type Module,
  type ModuleInstance,
  type RestRequest,
  reportSignedIn,
  restRoute,
} from "@gr/runtime";
import { z } from "zod";
import type { FakeKeys } from "./fake-keys.ts";

/** Request as a route received it. */
export interface Seen {
  readonly route: string;
  readonly principal: unknown;
  readonly requestId: string;
  readonly headers: Record<string, unknown>;
  readonly bytes: number;
}

/** Lets a test control a running request. */
export class Stage {
  /** Requests to the console so far. */
  sessionsAsked = 0;
  /** Resolves when a request has entered the waiting route. */
  entered = Promise.withResolvers<void>();
  /** Resolved by the test: the waiting route continues. */
  released = Promise.withResolvers<void>();
  /** Resolves when the client of the waiting request has disconnected. */
  left = Promise.withResolvers<void>();
  /** Directions of text requests with an ended connection to the module, or an ended exchange. */
  readonly closed: string[] = [];

  reset(): void {
    this.entered = Promise.withResolvers();
    this.released = Promise.withResolvers();
    this.left = Promise.withResolvers();
  }
}

const ok = { 200: { description: "What was seen", schema: z.object({ route: z.string() }) } };
const MB = 1024 * 1024;
/** A large body under this Idempotency-Key is refused for lack of credit. */
export const NO_CREDIT = "no-credit";

const bodies: BodyRules = {
  freeBytes: MB,
  admit: async ({ headers }) => {
    if (headers["idempotency-key"] !== NO_CREDIT) return;
    throw new ServiceError("insufficient_credits", "There is no credit for so large a body.");
  },
  budget: new ByteBudget(500 * MB),
  ownerOf: () => "everybody",
};

function see(route: string) {
  return async ({ http, body }: RestRequest): Promise<Seen> => ({
    route,
    principal: http.principal,
    requestId: http.id,
    headers: http.headers,
    bytes: body instanceof Uint8Array ? body.byteLength : JSON.stringify(body ?? "").length,
  });
}

function get(path: string) {
  return restRoute({ method: "GET", path, access: anyone, summary: path, responses: ok, handle: see(path) });
}

const directions = z.object({
  do: z.enum(["tell", "fail", "crash", "stream", "break", "wait", "fill", "flood"]).default("tell"),
  reason: z.string().optional(),
  /** Length of a "fill". */
  bytes: z.number().optional(),
  /** Tag of a "fill". */
  tag: z.string().optional(),
});

function text(stage: Stage, path: string) {
  return restRoute({
    method: "POST",
    path,
    access: anyone,
    summary: path,
    body: directions,
    bodyLimit: 20 * MB,
    responses: ok,
    handle: async (request) => {
      const { do: what, reason = "", bytes = 0, tag } = request.body;
      request.reply.raw.once("close", () => stage.closed.push(what));
      if (what === "fill") {
        if (tag !== undefined) request.reply.header("etag", tag);
        return { text: "x".repeat(bytes) };
      }
      if (what === "flood") return request.reply.type("text/event-stream").send(Readable.from(flood()));
      if (what === "fail" && isReason(reason)) {
        throw new ServiceError(reason, `It failed: ${reason}.`, { param: "model", retryAfterMs: 1_500 });
      }
      if (what === "crash") throw new Error("secret of the inside");
      if (what === "wait") {
        request.reply.raw.once("close", () => stage.left.resolve());
        stage.entered.resolve();
        await stage.released.promise;
      }
      if (what === "stream" || what === "break") {
        return request.reply.type("text/event-stream").send(Readable.from(events(stage, what)));
      }
      return see(path)(request as RestRequest);
    },
  });
}

function* flood() {
  for (;;) yield Buffer.alloc(64 * 1024);
}

/** Sends the second event on the test's command; "break" fails instead. */
async function* events(stage: Stage, what: "stream" | "break") {
  yield "data: first\n\n";
  stage.entered.resolve();
  await stage.released.promise;
  if (what === "break") throw new Error("lost the upstream");
  yield "data: second\n\n";
}

const bytesRoute = (path: string) =>
  restRoute({
    method: "POST",
    path,
    access: anyone,
    summary: path,
    body: z.object({ prompt: z.string().optional() }),
    bodyAs: "bytes",
    bodyLimit: 50 * MB,
    responses: ok,
    handle: see(path),
  });

function fake(name: string, instance: ModuleInstance): Module {
  return defineModule({ name, needs: [], config: z.object({}), create: async () => instance });
}

export function fakeModules(keys: FakeKeys, stage: Stage): Module[] {
  const named = z.object({ name: z.string().min(1).max(200) });
  const mint = {
    method: "POST",
    path: "/v1/api-keys",
    access: anyone,
    summary: "Mint",
    body: named,
    responses: { 201: ok[200] },
    handle: async (request: RestRequest<{ name: string }, undefined>) => {
      void request.reply.status(201);
      return see("/v1/api-keys")(request);
    },
  } as const;
  const remove = {
    method: "DELETE",
    path: "/v1/api-keys/:id",
    access: anyone,
    summary: "Delete",
    responses: ok,
    handle: see("/v1/api-keys/:id"),
  } as const;
  const test = {
    method: "POST",
    path: "/v1/auth/test",
    access: anyone,
    summary: "Test",
    responses: ok,
    handle: see("/v1/auth/test"),
  } as const;
  // A route outside of the gateway's table must not be reachable from outside.
  const inside = get("/inside/secrets");
  // The person of a session is the name in its cookie.
  const session = restRoute({
    method: "GET",
    path: "/console/api/session",
    access: anyone,
    summary: "Session",
    responses: ok,
    handle: async (request) => {
      stage.sessionsAsked += 1;
      const cookie = request.http.headers.cookie ?? "";
      reportSignedIn(request.reply, /(?:^|; )gr_session=valid-(\w+)/.exec(cookie)?.[1]);
      return see("/console/api/session")(request);
    },
  });
  return [
    fake("keys", {
      rpc: [keys.service()],
      rest: {
        routes: [
          get("/v1/api-keys"),
          get("/v1/budgets"),
          restRoute(mint),
          restRoute(remove),
          restRoute(test),
          inside,
        ],
      },
    }),
    fake("console", { rest: { routes: [session, get("/webhooks/stripe")] } }),
    fake("billing", { rest: { routes: [get("/v1/credits"), get("/v1/activity")] } }),
    fake("catalog", { rest: { routes: [get("/v1/models"), get("/v1/models/*"), get("/v1/compat/models")] } }),
    fake("text-proxy", {
      rest: {
        routes: ["compat", "quote"].flatMap((top) => [
          text(stage, `/v1/${top}/chat/completions`),
          text(stage, `/v1/${top}/responses`),
        ]),
      },
    }),
    fake("media-generation", {
      rest: {
        bodies,
        routes: [
          ...["compat", "quote"].flatMap((top) => [
            bytesRoute(`/v1/${top}/images/generations`),
            bytesRoute(`/v1/${top}/images/edits`),
            bytesRoute(`/v1/${top}/videos/generations`),
          ]),
          get("/v1/generations"),
          get("/v1/webhooks/deliveries"),
          get("/v1/account/webhooks/receivers"),
          get("/media/*"),
        ],
      },
    }),
  ];
}
