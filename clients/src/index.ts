// The clients of services that other services call: batched billing, and the live copy of the catalogue.
export {
  type Billing,
  type CaptureRequest,
  type Claim,
  createBilling,
  type KeptAnswer,
  MOST_KEPT_BYTES,
  type PlaceRequest,
  ReleaseReason,
} from "./billing.ts";
export { type CatalogCopy, createCatalogCopy } from "./catalog-copy.ts";
