// Model kinds map models of the catalogue to images, videos or text, for sums by kind. An unlisted model is "other".
import { type CatalogService, ModelKind } from "@gr/proto/catalog";
import type { Clock, ServiceClient } from "@gr/runtime";

const KEPT_MS = 60_000;

const NAMES: Readonly<Record<ModelKind, string>> = {
  [ModelKind.UNSPECIFIED]: "other",
  [ModelKind.IMAGE]: "image",
  [ModelKind.VIDEO]: "video",
  [ModelKind.TEXT]: "text",
};

export interface ModelKinds {
  /** Kind by the id of a model. */
  read(): Promise<ReadonlyMap<string, string>>;
}

export function createModelKinds(catalog: ServiceClient<typeof CatalogService>, clock: Clock): ModelKinds {
  let kept: { kinds: Promise<ReadonlyMap<string, string>>; until: number } | undefined;
  const fetchKinds = async (): Promise<ReadonlyMap<string, string>> => {
    const { catalog: current } = await catalog.getCatalog({});
    return new Map((current?.models ?? []).map(({ id, kind }) => [id, NAMES[kind] ?? "other"]));
  };
  return {
    read: () => {
      if (kept !== undefined && kept.until > clock.now()) return kept.kinds;
      const kinds = fetchKinds().catch((error: unknown) => {
        kept = undefined;
        throw error;
      });
      kept = { kinds, until: clock.now() + KEPT_MS };
      return kinds;
    },
  };
}
