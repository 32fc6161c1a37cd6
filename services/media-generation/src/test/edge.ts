// Replaces the gateway in front of media generation: a public listener with an authenticated client.
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { type Principal, RESPONSE_FORMATS } from "@gr/identity";
import { closeHttpApp, createHttpApp, defineModule, type Module, port } from "@gr/runtime";
import { z } from "zod";

export const caller: Principal = {
  accountId: "0b1f5f2e-7f0f-4a51-9d5c-3f1f5f0f4a51",
  keyId: "5d9c3f1f-0f4a-4a51-9d5c-0b1f5f2e7f0f",
  kind: "normal",
};

/** Names another key of the client's account. */
export const KEY_HEADER = "x-test-key";
/** Names another account. */
export const ACCOUNT_HEADER = "x-test-account";

/** Present: the client has a management key. */
export const MANAGEMENT_HEADER = "x-test-management";

/** Default response_format of the client's key. */
export const FORMAT_HEADER = "x-test-response-format";
/** JSON of the allow-lists of the client's key. */
export const ALLOWED_HEADER = "x-test-allowed";
/** A stop waits for running requests. */
const LONGEST_REQUEST_MS = 600_000;

/** Requests with clients that still wait. */
export const waiting = new Set<string>();

export const edgeModule: Module = defineModule({
  name: "edge",
  needs: ["media-generation"],
  config: z.object({ EDGE_PORT: port(0) }),
  create: async ({ config, log, mount }) => {
    const app = createHttpApp({ log, requestId: () => randomUUID() });
    app.addHook("onRequest", async (request, reply) => {
      const { [KEY_HEADER]: keyId, [ACCOUNT_HEADER]: accountId, [FORMAT_HEADER]: format } = request.headers;
      const lists = request.headers[ALLOWED_HEADER];
      const responseFormat = RESPONSE_FORMATS.find((known) => known === format);
      request.principal = {
        ...caller,
        ...(typeof keyId === "string" ? { keyId } : {}),
        ...(typeof accountId === "string" ? { accountId } : {}),
        ...(responseFormat === undefined ? {} : { responseFormat }),
        ...(MANAGEMENT_HEADER in request.headers ? { kind: "management" } : {}),
        ...(typeof lists === "string" ? { allowed: JSON.parse(lists) } : {}),
      };
      waiting.add(request.id);
      reply.raw.once("close", () => waiting.delete(request.id));
    });
    await mount(app, "media-generation", [
      { prefix: "/v1/compat/images" },
      { prefix: "/v1/compat/videos" },
      { prefix: "/v1/quote" },
      { prefix: "/v1/generations" },
      { prefix: "/v1/webhooks" },
      { prefix: "/v1/account" },
      { prefix: "/media" },
    ]);
    return {
      start: async () => {
        await app.listen({ host: "127.0.0.1", port: config.EDGE_PORT });
      },
      publicUrl: () => `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
      // A plain close would keep a connection whose request has just ended, for 75 s.
      stop: () => closeHttpApp(app, LONGEST_REQUEST_MS),
    };
  },
});
