// GET /openapi.json. The description is put together when it is first asked for and again after a while, because
// modules in other processes are replaced at times of their own.
import type { Clock, ModuleContext } from "@gr/runtime";
import type { FastifyInstance } from "fastify";
import { buildOpenApi } from "./openapi.ts";

export const OPENAPI_PATH = "/openapi.json";

const KEPT_MS = 60_000;

export interface OpenApiSource {
  readonly modules: readonly string[];
  readonly describeRest: ModuleContext<unknown>["describeRest"];
  readonly clock: Clock;
}

/** A module that does not answer makes the answer 503, never a description with a part missing. */
export function serveOpenApi(app: FastifyInstance, { modules, describeRest, clock }: OpenApiSource): void {
  let kept: { document: Promise<string>; until: number } | undefined;
  const build = async (): Promise<string> => {
    const parts = await Promise.all(modules.map((module) => describeRest(module)));
    return JSON.stringify(buildOpenApi(parts));
  };
  app.get(OPENAPI_PATH, async (_request, reply) => {
    if (kept === undefined || kept.until <= clock.now()) {
      const document = build().catch((error: unknown) => {
        kept = undefined;
        throw error;
      });
      kept = { document, until: clock.now() + KEPT_MS };
    }
    const document = await kept.document;
    return reply.type("application/json; charset=utf-8").send(document);
  });
}
