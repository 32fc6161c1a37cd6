// NameKinds sends billing the kinds of the models of images and videos, once for each version of the catalogue: billing sums requests
// by kind, and its holds have models only.
import type { CatalogCopy } from "@gr/clients";
import type { ActivityService } from "@gr/proto/activity";
import { ModelKind } from "@gr/proto/catalog";
import { type ServiceClient, startRounds, type Timer } from "@gr/runtime";

/** A look at the version costs nothing. */
const NAME_EVERY_MS = 1_000;
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
  /** Receives the first error of calls in a row; the next rounds repeat the call. */
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
  let isFailing = false;
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
    isFailing = false;
  };
  const notNamed = (error: unknown) => {
    if (!isFailing) failed(error);
    isFailing = true;
  };
  return startRounds({ clock, pauseMs: NAME_EVERY_MS, round, failed: notNamed });
}
