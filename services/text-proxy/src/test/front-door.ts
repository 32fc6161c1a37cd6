// The public listener at the process edge. Like the gateway, it adds an id, a principal and a header of its own to
// every request, and mounts the text proxy behind it.

import { randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Principal } from "@gr/identity";
import {
  closeHttpApp,
  createHttpApp,
  defineModule,
  type Module,
  milliseconds,
  stopConfig,
} from "@gr/runtime";
import { z } from "zod";

/** Time for the last events of stopped requests, beyond the grace; the front door ends as soon as they are sent. */
const PATIENCE_MS = 30_000;
const ACCOUNT = "0190c0de-0000-7000-8000-000000000001";
const KEY = "0190c0de-0000-7000-8000-000000000002";

export const principal: Principal = { accountId: ACCOUNT, keyId: KEY, kind: "normal" };

/** Names another client than the default: "<account id>/<key id>". */
export const CALLER_HEADER = "x-test-caller";

/** JSON of the allow-lists of the client's key. */
export const ALLOWED_HEADER = "x-test-allowed";

/** Present: the client's key saves prompts and answers. */
export const SAVES_HEADER = "x-test-saves";

function principalFrom(headers: IncomingHttpHeaders): Principal {
  const { [CALLER_HEADER]: caller, [ALLOWED_HEADER]: lists, [SAVES_HEADER]: saves } = headers;
  const [accountId = ACCOUNT, keyId = KEY] = typeof caller === "string" ? caller.split("/") : [];
  const allowed = typeof lists === "string" ? { allowed: JSON.parse(lists) } : {};
  return { accountId, keyId, kind: "normal", ...allowed, ...(saves !== undefined && { savesTexts: true }) };
}

export function frontDoor(): Module {
  return defineModule({
    name: "gateway",
    needs: ["text-proxy"],
    config: z.object({
      ...stopConfig.shape,
      ANSWER_STALL_MS: milliseconds(3_600_000).describe("time in which a client must read something"),
    }),
    async create({ config, log, mount }) {
      const app = createHttpApp({
        log,
        requestId: () => randomUUID(),
        answers: {
          stallMs: config.ANSWER_STALL_MS,
          bytesPerSecond: 0,
          connectionBytes: Number.POSITIVE_INFINITY,
          processBytes: Number.POSITIVE_INFINITY,
        },
      });
      app.addHook("onRequest", async (request, reply) => {
        request.principal = principalFrom(request.headers);
        reply.header("x-ratelimit-limit-requests", "100");
      });
      await mount(app, "text-proxy", [
        { prefix: "/v1/compat/chat/completions" },
        { prefix: "/v1/compat/responses" },
        { prefix: "/v1/quote/chat/completions" },
        { prefix: "/v1/quote/responses" },
      ]);
      return {
        start: async () => {
          await app.listen({ host: "127.0.0.1", port: 0 });
        },
        publicUrl: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
        stop: () => closeHttpApp(app, config.STOP_GRACE_MS + PATIENCE_MS),
      };
    },
  });
}
