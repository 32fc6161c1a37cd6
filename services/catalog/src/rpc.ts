// The catalogue's RPC services. Everybody gets the catalogue as it is. Operators also see what it would be, look up past
// prices, import now, and ask how the last import went.
import { ServiceError } from "@gr/proto";
import { CatalogOperatorService, CatalogService, TextImportState } from "@gr/proto/catalog";
import { implement, OperatorError, type RpcService } from "@gr/runtime";
import type { LiveCatalog } from "./live-catalog.ts";
import type { TakePreview } from "./preview.ts";
import type { PriceStore } from "./price-store.ts";
import type { TextImport } from "./text-import.ts";
import { UnusableListing } from "./text-listing.ts";

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
  preview: TakePreview;
  prices: PriceStore;
  textImport: Pick<TextImport, "sync" | "state"> | undefined;
}): RpcService {
  const { preview, prices, textImport } = parts;
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
      if (textImport === undefined) {
        throw new ServiceError(
          "invalid_value",
          "There are no text models to import: no TEXT_UPSTREAM_BASE_URL or TEXT_UPSTREAM_API_KEY is set.",
        );
      }
      try {
        const { before, after } = await textImport.sync();
        return { before, after };
      } catch (error) {
        if (!(error instanceof UnusableListing)) throw error;
        const message = `The text models were not imported, and the last good ones stay: ${error.message}.`;
        throw new ServiceError("provider_error", message);
      }
    },
    async getTextImport() {
      const now = textImport?.state();
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
