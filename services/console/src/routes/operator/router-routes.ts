// Router routes show operators the router itself: open requests, providers, and the next state of the catalogue.
import type { CatalogueChanges, OpenRequestRecord, RouterProviders } from "@gr/console-api";
import { formatCredits } from "@gr/money";
import { type Hold, HoldState } from "@gr/proto/billing";
import { type Catalog, type Model, ModelKind, TextImportState } from "@gr/proto/catalog";
import type { ConsoleDeps } from "../../console-deps.ts";
import type { Handlers } from "../../door/console-call.ts";

const MOST_REQUESTS = 200;
/** Limit of a preview. Its import calls slow upstreams. */
const PREVIEW_MS = 60_000;

type Provider = RouterProviders["providers"][number];
const KINDS: Readonly<Partial<Record<ModelKind, "images" | "videos" | "texts">>> = {
  [ModelKind.IMAGE]: "images",
  [ModelKind.VIDEO]: "videos",
  [ModelKind.TEXT]: "texts",
};
const IMPORTS: Readonly<Partial<Record<TextImportState, RouterProviders["text_import"]["state"]>>> = {
  [TextImportState.RUNNING]: "running",
  [TextImportState.DONE]: "done",
  [TextImportState.FAILED]: "failed",
};

export function routerRoutes(
  deps: ConsoleDeps,
): Handlers<"listOpenRequests" | "readProviders" | "previewCatalogue"> {
  const { billing, catalog, catalogOperator, clock } = deps;
  return {
    listOpenRequests: async () => {
      const { holds } = await billing.listHolds({ state: HoldState.OPEN, limit: MOST_REQUESTS + 1 });
      const now = clock.now();
      const data = holds.slice(0, MOST_REQUESTS).map((hold) => openRequest(hold, now));
      return { data, is_cut: holds.length > MOST_REQUESTS };
    },
    readProviders: async () => {
      const [{ catalog: current }, imported] = await Promise.all([
        catalog.getCatalog({}),
        catalogOperator.getTextImport({}),
      ]);
      return {
        catalogue_version: current?.version ?? "",
        providers: providersOf(current?.models ?? []),
        text_import: { state: IMPORTS[imported.state] ?? "none", problem: imported.problem || null },
      };
    },
    previewCatalogue: async () => {
      const [{ catalog: current }, then] = await Promise.all([
        catalog.getCatalog({}),
        catalogOperator.previewCatalog({}, { timeoutMs: PREVIEW_MS }),
      ]);
      return { ...changesBetween(current, then.catalog), notes: then.notes };
    },
  };
}

function openRequest(hold: Hold, now: number): OpenRequestRecord {
  return {
    id: hold.holdId,
    account_id: hold.accountId,
    service: hold.service,
    provider: hold.provider,
    attempt: hold.attempt,
    model: hold.model,
    held: formatCredits(hold.credits),
    placed_at: new Date(Number(hold.placedAt)).toISOString(),
    deadline_at: new Date(Number(hold.deadlineAt)).toISOString(),
    is_overdue: Number(hold.deadlineAt) < now,
  };
}

function providersOf(models: readonly Model[]): Provider[] {
  const found = new Map<string, Provider>();
  for (const { kind, routes } of models) {
    const names = new Set(routes.map(({ provider }) => provider));
    for (const name of names) {
      const record = found.get(name) ?? { name, images: 0, videos: 0, texts: 0, alone: 0 };
      found.set(name, record);
      const field = KINDS[kind];
      if (field !== undefined) record[field] += 1;
      if (names.size === 1) record.alone += 1;
    }
  }
  return [...found.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function changesBetween(
  before: Catalog | undefined,
  after: Catalog | undefined,
): Omit<CatalogueChanges, "notes"> {
  const old = versionsOf(before);
  const next = versionsOf(after);
  return {
    added: [...next.keys()].filter((id) => !old.has(id)),
    removed: [...old.keys()].filter((id) => !next.has(id)),
    repriced: [...next].filter(([id, version]) => (old.get(id) ?? version) !== version).map(([id]) => id),
  };
}

/** Returns the price version of each model. */
function versionsOf(catalog: Catalog | undefined): ReadonlyMap<string, string> {
  return new Map((catalog?.models ?? []).map(({ id, price }) => [id, price?.version ?? ""]));
}
