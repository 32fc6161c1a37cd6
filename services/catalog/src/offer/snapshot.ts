// Snapshot is the catalogue at one moment: the models on sale that day, sorted by id. Its version is the hash of their
// content, so two processes with the same models have the same version.
import { createHash } from "node:crypto";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Catalog, CatalogSchema, type Model } from "@gr/proto/catalog";
import type { Offer } from "./offer.ts";
import { isOnSale } from "./shutdown.ts";

export interface Snapshot {
  readonly catalog: Catalog;
  find(id: string): Model | undefined;
}

/**
 * @param offer has priority over the imported models: its models replace those with the same id,
 * and its hidden ids apply to both.
 * @param today ISO date; a model is hidden from its shutdown date on
 */
export function snapshotOf(offer: Offer, imported: readonly Model[], today: string): Snapshot {
  const byId = new Map<string, Model>();
  for (const model of [...offer.models, ...imported]) {
    if (!byId.has(model.id) && !offer.hidden.has(model.id)) byId.set(model.id, model);
  }
  const shown = [...byId.values()].filter(({ shutdownDate }) => isOnSale(shutdownDate, today));
  const models = shown.sort((one, other) => (one.id < other.id ? -1 : 1));
  const content = toBinary(CatalogSchema, create(CatalogSchema, { models }));
  const version = createHash("sha256").update(content).digest("hex").slice(0, 16);
  const listed = new Map(models.map((model) => [model.id, model]));
  return { catalog: create(CatalogSchema, { version, models }), find: (id) => listed.get(id) };
}
