// The catalogue's RPC services. Every peer can read the catalogue. Operators can also preview changes, look up past
// prices, import now, and query the last import.
import { ServiceError } from "@gr/proto";
import { CatalogOperatorService, CatalogService, TextImportState } from "@gr/proto/catalog";
import { implement, OperatorError, type RpcService } from "@gr/runtime";
import { UnusableListing } from "../files/text-listing.ts";
import type { LiveCatalog } from "../offer/live-catalog.ts";
import type { PastPriceStore } from "../prices/past-price-store.ts";
import type { TextImports } from "../sources/text-imports.ts";
import type { ReadPreview } from "./preview.ts";

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

const IMPORT_STATES = { running: TextImportState.RUNNING, done: TextImportState.DONE } as const;

export function catalogOperatorRpc(parts: {
  preview: ReadPreview;
  prices: PastPriceStore;
  textImports: Pick<TextImports, "sync" | "state">;
}): RpcService {
  const { preview, prices, textImports } = parts;
  return implement(CatalogOperatorService, {
    async previewCatalog({ seedFiles, own }) {
      try {
        const { catalog, notes } = await preview({
          seed: seedFiles.length === 0 ? undefined : seedFiles,
          own: own?.files,
        });
        return { catalog, notes: [...notes] };
      } catch (error) {
        if (!(error instanceof OperatorError)) throw error;
        throw new ServiceError("invalid_value", error.message, {
          param: own === undefined ? "seed_files" : "own",
        });
      }
    },
    async syncCatalog() {
      try {
        const synced = await textImports.sync();
        if (synced !== undefined) return synced;
        throw new ServiceError(
          "invalid_value",
          "There are no text models to import: neither TEXT_UPSTREAMS, TEXT_UPSTREAM_BASE_URL nor TEXT_UPSTREAM_API_KEY names an upstream that lists them.",
        );
      } catch (error) {
        if (!(error instanceof UnusableListing)) throw error;
        const message = `The text models were not imported, and the last good ones stay: ${error.message}.`;
        throw new ServiceError("provider_error", message);
      }
    },
    async getTextImport() {
      const now = textImports.state();
      if (now === undefined) return { state: TextImportState.NONE };
      return now.state === "failed"
        ? { state: TextImportState.FAILED, problem: now.problem }
        : { state: IMPORT_STATES[now.state] };
    },
    async getPriceVersion({ version }) {
      const past = await prices.find(version);
      if (past === undefined) return {};
      const models = past.models.map(({ id, firstSeenAt }) => ({ id, firstSeenUnixMs: BigInt(firstSeenAt) }));
      return { price: past.price, models };
    },
  });
}
