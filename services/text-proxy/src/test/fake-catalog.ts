// A catalogue at the process edge: the sandbox models, an expensive one, a free one, one with thoughts, one with two
// upstreams, one for images.
import type { MessageInitShape } from "@bufbuild/protobuf";
import { CatalogService, ModelKind, type ModelSchema } from "@gr/proto/catalog";
import { defineModule, implement, type Module } from "@gr/runtime";
import { z } from "zod";

/** The price of sandbox/chat. */
const CHAT_PRICE = { inputPicoUsd: 500_000n, outputPicoUsd: 1_500_000n };
const FREE = { inputPicoUsd: 0n, outputPicoUsd: 0n };
/** A token is 0.1 USD. */
const DEAR = { inputPicoUsd: 100_000_000_000n, outputPicoUsd: 100_000_000_000n };
/** 15 and 75 USD per million. */
const LONG = { inputPicoUsd: 15_000_000n, outputPicoUsd: 75_000_000n };

function textModel(
  id: string,
  { as = id, price = CHAT_PRICE, provider = "default", capabilities = [""], most = 16_000n } = {},
) {
  return {
    id,
    kind: ModelKind.TEXT,
    capabilities,
    contextTokens: 1_048_576n,
    maxOutputTokens: most,
    price: { version: "v1", rule: { case: "token" as const, value: price } },
    routes: [{ provider, upstreamModel: as }],
  };
}

/** Served by two upstreams; the second bills three times as much. */
const shared = {
  ...textModel("shared/chat"),
  price: {
    version: "v1",
    rule: {
      case: "token" as const,
      value: {
        ...CHAT_PRICE,
        upstreams: [{ provider: "second", price: { inputPicoUsd: 1_500_000n, outputPicoUsd: 4_500_000n } }],
      },
    },
  },
  routes: [
    { provider: "first", upstreamModel: "one" },
    { provider: "second", upstreamModel: "two" },
  ],
};

type FakeModel = MessageInitShape<typeof ModelSchema>;

const USUAL: readonly FakeModel[] = [
  shared,
  textModel("sandbox/chat"),
  textModel("sandbox/chat-error"),
  textModel("sandbox/chat-hang"),
  textModel("sandbox/chat-reset"),
  textModel("sandbox/chat-no-usage"),
  textModel("sandbox/chat-vision", { capabilities: ["vision"] }),
  textModel("renamed/chat", { as: "sandbox/chat" }),
  textModel("elsewhere/chat", { provider: "another" }),
  textModel("free/chat", { as: "sandbox/chat", price: FREE }),
  textModel("dear/chat", { as: "sandbox/chat", price: DEAR }),
  textModel("long/chat", { as: "sandbox/chat", price: LONG, most: 10_000_000n }),
  textModel("thinking/chat", { as: "sandbox/chat", capabilities: ["reasoning"] }),
  { id: "sandbox/image", kind: ModelKind.IMAGE, routes: [{ provider: "openai", upstreamModel: "x" }] },
];

export class FakeCatalog {
  readonly #models: readonly FakeModel[];
  /** Ids that are listed no more, from the next change on. */
  readonly #removed = new Set<string>();
  #changed = Promise.withResolvers<void>();
  #stopped = false;

  readonly module: Module = defineModule({
    name: "catalog",
    needs: [],
    config: z.object({}),
    create: async () => ({ rpc: [this.#service()], stop: async () => this.#stop() }),
  });

  /** @param more models beside the usual ones */
  constructor(more: readonly FakeModel[] = []) {
    this.#models = [...USUAL, ...more];
  }

  /** Copies of the catalogue learn it a moment later. */
  remove(id: string): void {
    this.#removed.add(id);
    this.#notify();
  }

  restore(): void {
    this.#removed.clear();
    this.#notify();
  }

  #catalog() {
    return { version: "1", models: this.#models.filter(({ id = "" }) => !this.#removed.has(id)) };
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  #stop(): void {
    this.#stopped = true;
    this.#notify();
  }

  #service() {
    const catalog = () => this.#catalog();
    const nextChange = () => this.#changed.promise;
    const stopped = () => this.#stopped;
    return implement(CatalogService, {
      getCatalog: async () => ({ catalog: catalog() }),
      async *watchCatalog(_request, { signal }) {
        const left = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        while (!signal.aborted && !stopped()) {
          const changed = nextChange();
          yield { catalog: catalog() };
          await Promise.race([changed, left]);
        }
      },
    });
  }
}
