// The catalogue's RPC services: the catalogue as it is in memory; and for operators, what it would be and what it was.
import { ServiceError } from "@gr/proto";
import { CatalogOperatorService, CatalogService } from "@gr/proto/catalog";
import { implement, OperatorError, type RpcService } from "@gr/runtime";
import type { LiveCatalog } from "./live-catalog.ts";
import type { TakePreview } from "./preview.ts";
import type { PriceStore } from "./price-store.ts";

export function catalogRpc(live: LiveCatalog): RpcService {
  return implement(CatalogService, {
    async getCatalog() {
      return { catalog: live.current().catalog };
    },
    async *watchCatalog(_request, { signal }) {
      for await (const catalog of live.watch(signal)) yield { catalog };
    },
  });
}

export function catalogOperatorRpc(preview: TakePreview, prices: PriceStore): RpcService {
  return implement(CatalogOperatorService, {
    async previewCatalog({ seedFiles }) {
      try {
        const { catalog, notes } = await preview(seedFiles);
        return { catalog, notes: [...notes] };
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
        throw new ServiceError("invalid_value", error.message, { param: "seed_files" });
      }
    },
    async getPriceVersion({ version }) {
      const past = await prices.find(version);
      if (past === undefined) return {};
      const models = past.models.map(({ id, firstSeenAt }) => ({ id, firstSeenUnixMs: BigInt(firstSeenAt) }));
      return { price: past.price, models };
    },
  });
}
