// What must hold between the fields of a seed model, beyond the shape of each: above all that its price is finite,
// so that every request the model accepts has a price before it is sent.
import { acceptsSize, priceOfImageRequest, priceOfVideoRequest } from "@gr/clients";
import { type Model, ModelKind } from "@gr/proto/catalog";

/** Larger than any size of a list: has a price only if the rule prices every size. */
const ANY_SIZE = "99999x99999";

/** Sentences of what is wrong with one model; none = it may be listed. */
export function problemsOfModel(model: Model, vendor: string): string[] {
  return [
    ...(model.id.startsWith(`${vendor}/`) ? [] : [`the id must begin with "${vendor}/"`]),
    ...problemsOfDefaults(model),
    ...problemsOfPrice(model),
  ];
}

/** Sentences of what is wrong between models. */
export function problemsAcross(models: readonly Model[]): string[] {
  const ids = models.map(({ id }) => id);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  const boards = [ModelKind.IMAGE, ModelKind.VIDEO].map(
    (kind) =>
      new Set(
        models.flatMap(({ kind: its, arenaScore }) =>
          its === kind && arenaScore !== undefined ? [`${arenaScore.board} of ${arenaScore.asOf}`] : [],
        ),
      ),
  );
  return [
    ...[...twice].map((id) => `${id} is there more than once`),
    // Scores of different boards or days do not compare, and the list sorts by them.
    ...boards
      .filter((used) => used.size > 1)
      .map((used) => `models of one type have scores of different boards: ${[...used].join(", ")}`),
  ];
}

function problemsOfDefaults(model: Model): string[] {
  const problems: string[] = [];
  const takesSize = model.sizes.length > 0 || model.customSize !== undefined;
  const sizeFits = takesSize ? acceptsSize(model, model.defaultSize) : model.defaultSize === "";
  if (!sizeFits) problems.push("default.size must be one of its sizes, and absent when it has none");
  if (model.defaultQuality !== "" || model.qualities.length > 0) {
    if (!model.qualities.includes(model.defaultQuality)) {
      problems.push("default.quality must be one of its qualities, and absent when it has none");
    }
  }
  const isVideo = model.kind === ModelKind.VIDEO;
  if (isVideo !== model.defaultSeconds > 0) {
    problems.push("default.seconds is needed for a video and for nothing else");
  } else if (model.seconds.length > 0 && !model.seconds.includes(model.defaultSeconds)) {
    problems.push("default.seconds must be one of its seconds");
  }
  return problems;
}

function problemsOfPrice(model: Model): string[] {
  const { price } = model;
  const listed = model.sizes.filter((size) => size !== "auto");
  const sizes = model.customSize === undefined ? listed : [...listed, ANY_SIZE];
  const qualities = model.qualities.length === 0 ? ["auto"] : model.qualities;
  const lengths = model.seconds.length === 0 ? [model.defaultSeconds] : model.seconds;
  const missing = (sizes.length === 0 ? ["auto"] : sizes).flatMap((size) =>
    qualities.flatMap((quality) =>
      lengths
        .filter((seconds) => {
          if (price === undefined) return true;
          return model.kind === ModelKind.IMAGE
            ? priceOfImageRequest(price, { images: 1, quality, size }) === undefined
            : priceOfVideoRequest(price, { seconds, quality, size }) === undefined;
        })
        .map((seconds) => `${quality} ${size}${seconds === 0 ? "" : ` ${seconds} s`}`),
    ),
  );
  return missing.length === 0 ? [] : [`the price rule has no price for ${missing.slice(0, 3).join(", ")}`];
}
