// NameKinds sends billing the kinds of the models of images and videos, once for each version of the catalogue: billing sums requests
// by kind, and its holds have models only.
import type { CatalogCopy } from "@gr/clients";
import type { ActivityService } from "@gr/proto/activity";
import { ModelKind } from "@gr/proto/catalog";
import { type ServiceClient, startRounds, type Timer } from "@gr/runtime";

const NAME_EVERY_MS = 10_000;
/** Models in one call. */
const MOST_AT_ONCE = 5_000;
const NAMES: ReadonlyMap<ModelKind, string> = new Map([
  [ModelKind.IMAGE, "image"],
  [ModelKind.VIDEO, "video"],
]);

export interface NameKindsOptions {
  readonly catalog: Pick<CatalogCopy, "models" | "version">;
  readonly activity: Pick<ServiceClient<typeof ActivityService>, "nameModelKinds">;
  readonly clock: Timer;
  /** Receives the error of a call; the next round repeats it. */
  readonly failed: (error: unknown) => void;
}

/** @returns stops the rounds */
export function startNamingKinds({
  catalog,
  activity,
  clock,
  failed,
}: NameKindsOptions): () => Promise<void> {
  let named = "";
  const round = async () => {
    const version = catalog.version();
    if (version === named) return;
    const models = [...catalog.models()].flatMap(({ id: model, kind }) => {
      const name = NAMES.get(kind);
      return name === undefined ? [] : [{ model, kind: name }];
    });
    for (let start = 0; start < models.length; start += MOST_AT_ONCE) {
      await activity.nameModelKinds({ models: models.slice(start, start + MOST_AT_ONCE) });
    }
    named = version;
  };
  return startRounds({ clock, pauseMs: NAME_EVERY_MS, round, failed });
}
