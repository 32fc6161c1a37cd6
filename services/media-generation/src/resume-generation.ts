// Goes on with a job that a process left running at the provider. Its caller is gone; what is hosted is charged and
// stays in the log, what was only to be handed over is not.
import { endInFailure, endInSuccess, type RunningGeneration } from "./end-generation.ts";
import type { Generation } from "./generation/generation.ts";
import type { GenerationDeps } from "./generation-deps.ts";
import type { MediaProvider, Operation } from "./providers/provider.ts";
import { ProviderError } from "./providers/provider-error.ts";
import { runGeneration } from "./run-generation.ts";

/** @throws ServiceError when it ends in another way than with its media hosted */
export function resumeGeneration(
  deps: GenerationDeps,
  generation: Generation,
  operation: Operation,
  provider: MediaProvider,
): Promise<void> {
  return deps.leases.during(generation.id, async () => {
    const running: RunningGeneration = { generation, provider, costing: costingOf(deps, generation) };
    deps.events.resumed(generation);
    const succeeded = await runGeneration(deps, running, async () => ({
      state: "pending",
      operation,
      pollAfterMs: 0,
    }));
    if (generation.request.response_format === "b64_ephemeral") {
      const usage = succeeded.usage ?? {};
      const message = "made after its caller had gone, and not to be kept";
      throw await endInFailure(
        deps,
        running,
        new ProviderError("failed", message, { accepted: true, usage }),
      );
    }
    const { ended } = await endInSuccess(deps, running, succeeded);
    deps.events.resolved(generation.id, ended);
  });
}

/** By today's catalogue: the cost price of a model that has left it is not known any more. */
function costingOf({ catalog }: GenerationDeps, generation: Generation): RunningGeneration["costing"] {
  const { n: count, size, quality } = generation.request;
  const route = catalog
    .find(generation.model)
    ?.routes.find(
      ({ provider, upstreamModel }) =>
        provider === generation.provider && upstreamModel === generation.upstreamModel,
    );
  return { costPrice: route?.cost, listPrice: generation.price, count, size, quality };
}
