// A catalogue at the process edge: the sandbox models, one of another price, one free, one that makes images.
import { CatalogService, ModelKind } from "@gr/proto/catalog";
import { defineModule, implement, type Module } from "@gr/runtime";
import { z } from "zod";

/** The price of sandbox/chat. */
const CHAT_PRICE = { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n };
const FREE = { inputPicoUsd: 0n, outputPicoUsd: 0n };

function textModel(
  id: string,
  { as = id, price = CHAT_PRICE, provider = "default", capabilities = [""] } = {},
) {
  return {
    id,
    kind: ModelKind.TEXT,
    capabilities,
    contextTokens: 1_048_576n,
    maxOutputTokens: 16_000n,
    price: { version: "v1", rule: { case: "token" as const, value: price } },
    routes: [{ provider, upstreamModel: as }],
  };
}

const models = [
  textModel("sandbox/chat"),
  textModel("sandbox/chat-error"),
  textModel("sandbox/chat-hang"),
  textModel("sandbox/chat-reset"),
  textModel("sandbox/chat-no-usage"),
  textModel("sandbox/chat-vision", { capabilities: ["vision"] }),
  textModel("renamed/chat", { as: "sandbox/chat" }),
  textModel("elsewhere/chat", { provider: "another" }),
  textModel("free/chat", { as: "sandbox/chat", price: FREE }),
  { id: "sandbox/image", kind: ModelKind.IMAGE, routes: [{ provider: "openai", upstreamModel: "x" }] },
];

export function fakeCatalog(): Module {
  const catalog = { version: "1", models };
  const stopping = Promise.withResolvers<void>();
  const service = implement(CatalogService, {
    getCatalog: async () => ({ catalog }),
    async *watchCatalog(_request, { signal }) {
      yield { catalog };
      signal.addEventListener("abort", () => stopping.resolve(), { once: true });
      await stopping.promise;
    },
  });
  return defineModule({
    name: "catalog",
    needs: [],
    config: z.object({}),
    create: async () => ({ rpc: [service], stop: async () => stopping.resolve() }),
  });
}
