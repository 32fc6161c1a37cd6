// CatalogService: hands out the catalogue as it is in memory.
import { CatalogService } from "@gr/proto/catalog";
import { implement, type RpcService } from "@gr/runtime";
import type { LiveCatalog } from "./live-catalog.ts";

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
