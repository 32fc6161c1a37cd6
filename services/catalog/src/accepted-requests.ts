// Every request that a model accepts, as far as its price can depend on it. The seed's checks and the price range of the
// list go through the same requests.
import { acceptsTogether, type ImageMeters, type VideoMeters } from "@gr/models";
import { type CustomSize, type Model, ModelKind } from "@gr/proto/catalog";
import { needsImage } from "./offer.ts";

/** Images that a request may bring along to a model whose own limit is not known. */
const MOST_INPUTS = 16;

/** Every request of one image or video that the model accepts, with no image along and with as many as it may bring. */
export function requestsOf(model: Model): (ImageMeters | VideoMeters)[] {
  const sizes = [
    ...listedSizesOf(model),
    ...(model.customSize === undefined ? [] : [largestOf(model.customSize)]),
  ];
  const qualities = model.qualities.length === 0 ? ["auto"] : model.qualities;
  const lengths = model.seconds.length === 0 ? [model.defaultSeconds] : model.seconds;
  const sounds = model.supportedParameters.includes("audio") ? [false, true] : [false];
  const most = model.supportedParameters.includes("image")
    ? (model.limits?.inputImages ?? 0) || MOST_INPUTS
    : 0;
  const inputs = [...(needsImage(model) ? [] : [0]), ...(most === 0 ? [] : [1, most])];
  const isVideo = model.kind === ModelKind.VIDEO;
  return (sizes.length === 0 ? ["auto"] : sizes).flatMap((size) =>
    qualities.flatMap((quality) =>
      lengths.flatMap((seconds) =>
        inputs.flatMap((inputImages): (ImageMeters | VideoMeters)[] => {
          const together = { size, quality, seconds, inputImages };
          if (!acceptsTogether(model, together)) return [];
          return isVideo
            ? sounds.map((audio) => ({ ...together, audio }))
            : [{ images: 1, quality, size, inputImages }];
        }),
      ),
    ),
  );
}

/** Without "auto". */
export function listedSizesOf(model: Model): string[] {
  return model.sizes.filter((size) => size !== "auto");
}

/** A size of the largest area within these bounds, or as good as the largest. */
function largestOf({ maxEdge, minEdge, maxPixels, edgeMultiple, maxRatio }: CustomSize): string {
  const step = edgeMultiple || 1;
  const longer = Math.floor(maxEdge / step) * step;
  if (maxPixels === 0n) return `${longer}x${longer}`;
  const shorter = Math.min(longer, Math.floor(Number(maxPixels) / longer / step) * step);
  if (shorter >= minEdge && shorter > 0 && (maxRatio === 0 || longer <= shorter * maxRatio))
    return `${longer}x${shorter}`;
  const edge = Math.floor(Math.sqrt(Number(maxPixels)) / step) * step;
  return `${edge}x${edge}`;
}
