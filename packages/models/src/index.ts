// Models owns the costs and the accepted parameters of catalogue models.
// The catalogue lists them and the services charge them, so both use this package.
export { type AskedTogether, acceptsTogether, type DefaultValues, defaultsOf } from "./accepted.ts";
export { acceptedInputs, needsImage, TAKES_IMAGES } from "./inputs.ts";
export { meterRatesOf } from "./meter-rates.ts";
export { ModelIds } from "./model-ids.ts";
export {
  dependsOnInputPixels,
  isExact,
  linesOfRequest,
  priceOf,
  priceOfImageRequest,
  priceOfImages,
  priceOfTokens,
  priceOfUse,
  priceOfVideoRequest,
  type Quote,
  type Reported,
} from "./price.ts";
export { type RateTerms, ratesAt, tierOf } from "./price-cases.ts";
export {
  type ImageMeters,
  linesOfTokens,
  type PriceLine,
  type PriceLines,
  sumOf,
  type TokenMeters,
  type VideoMeters,
} from "./price-lines.ts";
export { charactersOf, MOST_PROMPT_CHARACTERS } from "./prompt.ts";
export { PARTIAL_IMAGE_PROVIDERS, PROVIDER_ABILITIES, type ProviderAbility } from "./provider-ability.ts";
export { acceptsSize, makesSize, parseSize, type Size } from "./size.ts";
export { dearestRates, dearestTokenPrice, tokenPriceAt, withOwnPrice } from "./token-price.ts";
