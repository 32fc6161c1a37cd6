// Accepted requests are all requests of a model, as far as its price can depend on them. The seed's checks and the
// price range of the list iterate over the same requests.
import { acceptedInputs, acceptsTogether, type ImageMeters, needsImage, type VideoMeters } from "@gr/models";
import { type CustomSize, type Model, ModelKind } from "@gr/proto/catalog";

/** OpenAI's limit. */
const MOST_PARTIAL_IMAGES = 3;

/** Every accepted request for one image or video, without input images and with as many as the model allows. */
export function requestsOf(model: Model): (ImageMeters | VideoMeters)[] {
  const sizes = [
    ...listedSizesOf(model),
    ...(model.customSize === undefined ? [] : [largestOf(model.customSize)]),
  ];
  const qualities = model.qualities.length === 0 ? ["auto"] : model.qualities;
  const lengths = model.seconds.length === 0 ? [model.defaultSeconds] : model.seconds;
  const sounds = model.supportedParameters.includes("audio") ? [false, true] : [false];
  const partials = model.supportedParameters.includes("partial_images") ? [0, MOST_PARTIAL_IMAGES] : [0];
  const inputs = inputCountsOf(model);
  const isVideo = model.kind === ModelKind.VIDEO;
  return (sizes.length === 0 ? ["auto"] : sizes).flatMap((size) =>
    qualities.flatMap((quality) =>
      lengths.flatMap((seconds) =>
        inputs.flatMap((inputImages): (ImageMeters | VideoMeters)[] => {
          const together = { size, quality, seconds, inputImages };
          if (!acceptsTogether(model, together)) return [];
          return isVideo
            ? sounds.map((audio) => ({ ...together, audio }))
            : partials.map((partialImages) => ({ images: 1, quality, size, inputImages, partialImages }));
        }),
      ),
    ),
  );
}

/** Numbers of input images that can matter: none, one, and the most. */
export function inputCountsOf(model: Model): number[] {
  const { image: most } = acceptedInputs(model);
  return [...new Set([...(needsImage(model) ? [] : [0]), ...(most === 0 ? [] : [1, most])])];
}

/** Returns the listed sizes without "auto". */
export function listedSizesOf(model: Model): string[] {
  return model.sizes.filter((size) => size !== "auto");
}

/** A size of the largest area within these bounds, or close to the largest. */
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
