// The public listener at the process edge: gives every request an id, a principal and a header of its own, as the
// gateway does, and mounts the text proxy behind it.

import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import type { Principal } from "@gr/identity";
import { closeHttpApp, createHttpApp, defineModule, type Module } from "@gr/runtime";
import { z } from "zod";

const ACCOUNT = "0190c0de-0000-7000-8000-000000000001";
const KEY = "0190c0de-0000-7000-8000-000000000002";

const CLOSE_MS = 10_000;

export const principal: Principal = { accountId: ACCOUNT, keyId: KEY, kind: "normal" };

export function frontDoor(): Module {
  return defineModule({
    name: "gateway",
    needs: ["text-proxy"],
    config: z.object({}),
    async create({ log, mount }) {
      const app = createHttpApp({ log, requestId: () => randomUUID() });
      app.addHook("onRequest", async (request, reply) => {
        request.principal = principal;
        reply.header("x-ratelimit-limit-requests", "100");
      });
      await mount(app, "text-proxy", [
        { prefix: "/v1/compat/chat/completions" },
        { prefix: "/v1/compat/responses" },
      ]);
      return {
        start: async () => {
          await app.listen({ host: "127.0.0.1", port: 0 });
        },
        publicUrl: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
        // Not awaited: streams that are running end with the text proxy, which stops after this.
        stop: async () => {
          closeHttpApp(app, CLOSE_MS).catch((error) =>
            log.error({ err: error }, "the front door did not close"),
          );
        },
      };
    },
  });
}
