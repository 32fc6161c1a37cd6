// What every caller of a service needs and must not write twice: batched billing, the live catalogue copy,
// the one price function, the format of API keys, settings that several modules share.
export {
  type Billing,
  type CaptureRequest,
  createBilling,
  type KeptAnswer,
  MOST_KEPT_BYTES,
  type PlaceRequest,
  ReleaseReason,
} from "./billing.ts";
export { type CatalogCopy, createCatalogCopy } from "./catalog-copy.ts";
export { type Claim, claimOf } from "./claim.ts";
export { holdConfig } from "./hold-config.ts";
export { checksumOf, isWellFormedKey, KEY_PREFIX, looksLikeWebToken, makeKeySecret } from "./key-format.ts";
export {
  type ImageMeters,
  priceOfImageRequest,
  priceOfImages,
  priceOfTokens,
  priceOfVideoRequest,
  type TokenMeters,
  type VideoMeters,
} from "./price.ts";
export { PROVIDER_ABILITIES, type ProviderAbility } from "./provider-ability.ts";
export { acceptsSize, parseSize, type Size } from "./size.ts";
export {
  type TextUpstream,
  type TextUpstreamKind,
  textUpstreamConfig,
  textUpstreamOf,
} from "./text-upstream-config.ts";
