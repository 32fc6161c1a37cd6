// AllowLists are checked against the catalogue when a key gets them: a name without any model is a mistake. A model that
// disappears later stays in the list, and the key cannot use it.
import type { CatalogCopy } from "@gr/clients";
import { namesModel } from "@gr/identity";
import { ServiceError } from "@gr/proto";
import type { ApiKey } from "../records/key.ts";

/** @throws ServiceError invalid_value that names the field; service_unavailable before the catalogue has arrived */
export function requireKnownNames(
  catalog: Pick<CatalogCopy, "models">,
  { allowedModels, allowedProviders }: Partial<Pick<ApiKey, "allowedModels" | "allowedProviders">>,
): void {
  if (allowedModels == null && allowedProviders == null) return;
  const models = catalog.models();
  for (const name of allowedModels ?? []) {
    if (models.some(({ id }) => namesModel(name, id))) continue;
    const isBare = models.some(({ id }) => id.endsWith(`/${name}`));
    const remedy = isBare ? "use the whole id of the model" : "GET /v1/models?type=all lists the ids";
    throw unknown("allowed_models", `No model matches "${name}"; ${remedy}`);
  }
  const providers = new Set(models.flatMap(({ routes }) => routes.map(({ provider }) => provider)));
  for (const name of allowedProviders ?? []) {
    if (providers.has(name)) continue;
    const known = [...providers].sort().join(", ");
    throw unknown("allowed_providers", `No model has the provider "${name}"; the providers are ${known}`);
  }
}

function unknown(param: string, what: string): ServiceError {
  return new ServiceError("invalid_value", `${what} (field "${param}").`, { param });
}
