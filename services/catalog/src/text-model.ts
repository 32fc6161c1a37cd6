// A text model of a listing, as a model of the contract.
import { create } from "@bufbuild/protobuf";
import { type Model, ModelKind, ModelSchema } from "@gr/proto/catalog";
import type { TextModel } from "@gr/text-upstream";
import { versioned } from "./price-version.ts";

/**
 * @param upstream the name that routes call the upstream by.
 * @param upstreamModel what the upstream calls the model, where that is not its id.
 */
export function modelOfText(text: TextModel, upstream: string, upstreamModel = text.id): Model {
  const { prices } = text;
  return create(ModelSchema, {
    id: text.id,
    kind: ModelKind.TEXT,
    name: text.name,
    ownedBy: text.ownedBy,
    capabilities: [...text.capabilities],
    supportedParameters: [...text.supportedParameters],
    contextTokens: BigInt(text.contextTokens ?? 0),
    maxOutputTokens: BigInt(text.maxOutputTokens ?? 0),
    releaseDate: text.releaseDate ?? "",
    shutdownDate: text.shutdownDate ?? "",
    price: versioned({
      case: "token",
      value: {
        inputPicoUsd: prices.input,
        outputPicoUsd: prices.output,
        requestPicoUsd: prices.request,
        ...(prices.cachedInput === null ? {} : { cachedInputPicoUsd: prices.cachedInput }),
        ...(prices.cacheWrite === null ? {} : { cacheWritePicoUsd: prices.cacheWrite }),
        ...(prices.audioInput === null ? {} : { audioInputPicoUsd: prices.audioInput }),
        ...(prices.reasoning === null ? {} : { reasoningPicoUsd: prices.reasoning }),
      },
    }),
    routes: [{ provider: upstream, upstreamModel }],
  });
}
