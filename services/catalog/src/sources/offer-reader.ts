// OfferReader converts files to an offer: the seed, overlaid by the operator's own files, without
// models that no provider serves here.
import { type Model, ModelKind } from "@gr/proto/catalog";
import type { TextUpstream } from "@gr/text-upstream";
import { ownCatalog } from "../files/own-catalog.ts";
import { isOfSandbox, type Seed, type SeedFile } from "../files/seed.ts";
import { type MediaProviders, type Offer, offeredModels } from "../offer/offer.ts";

/** @throws OperatorError with the faults of the files */
export type OfferReader = (
  seed: Seed,
  ownFiles: readonly SeedFile[],
) => Offer & {
  /** Reasons why models of the operator's files are not listed. */
  readonly notes: readonly string[];
};

export function createOfferReader(
  config: { readonly SANDBOX_MODELS: boolean; readonly MEDIA_PROVIDERS: MediaProviders },
  upstreams: readonly TextUpstream[],
): OfferReader {
  return (seed, ownFiles) => {
    const own = ownCatalog(seed, ownFiles, upstreams);
    const known = own.models.filter((model) => config.SANDBOX_MODELS || !isOfSandbox(model));
    const models = offeredModels(known, config.MEDIA_PROVIDERS);
    const offered = new Set(models.map(({ id }) => id));
    const named = new Map(own.models.map((model) => [model.id, model]));
    const notes = [...own.added, ...own.changed]
      .filter((id) => !offered.has(id))
      .map((id) => `${id} is not listed: ${reasonOf(named.get(id), config.SANDBOX_MODELS)}.`);
    return { models, hidden: own.hidden, notes };
  };
}

function reasonOf(model: Model | undefined, sandbox: boolean): string {
  if (model === undefined)
    return "no text upstream that serves it is configured (TEXT_UPSTREAMS, TEXT_UPSTREAM_BASE_URL)";
  if (isOfSandbox(model) && !sandbox) return "models of the sandbox are switched off (SANDBOX_MODELS)";
  const providers = [...new Set(model.routes.map(({ provider }) => provider))].join(", ");
  const kind = model.kind === ModelKind.VIDEO ? "videos" : "images";
  return `none of its providers (${providers}) makes such ${kind} here (MEDIA_PROVIDERS)`;
}
