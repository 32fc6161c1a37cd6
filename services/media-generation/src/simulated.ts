// Parts of media generation that the simulation, the price tests and the bench build by themselves.
// No program imports this door.
export { BLOCKED, callerError, NOT_STORED, REFUSED } from "./generation/caller-error.ts";
export type { GenerationEvents } from "./generation/events.ts";
export type { Generation, MediaKinds, MediaOrder, State } from "./generation/generation.ts";
export { GenerationRecord } from "./generation/generation-record.ts";
export { MediaLookUp } from "./generation/look-up.ts";
export { createMediaGates } from "./generation/media-gates.ts";
export { type MediaLimits, MediaWork } from "./generation/media-work.ts";
export { MemoryPlaces } from "./generation/memory-places.ts";
export { type GenerationStore, LEFT } from "./generation/store.ts";
export type { CleanPicture } from "./inputs/clean-picture.ts";
export type { LogEntry } from "./log/log-entry.ts";
export { readEntry } from "./log/log-query.ts";
export type { LogStore } from "./log/log-store.ts";
export { type RemovalDeps, removeContent } from "./log/remove-content.ts";
export { createArtifactReader } from "./providers/artifact.ts";
export { mediaProviders } from "./providers/media-providers.ts";
export { createOutbound, type Outbound } from "./providers/outbound.ts";
export type { MediaJob, MediaProvider, Progress } from "./providers/provider.ts";
export type { ProviderDefinition } from "./providers/provider-definition.ts";
export { ProviderError } from "./providers/provider-error.ts";
export { chooseRoutes, type MediaRoute } from "./request/choose-routes.ts";
export { imageRequests } from "./request/image-request.ts";
export {
  createMediaOrder,
  pixelsOfImages,
  priceMediaOrder,
  withPartialImages,
} from "./request/media-order.ts";
export { videoRequests } from "./request/video-request.ts";
export { createImageConverter, type ImageFile } from "./storage/image-file.ts";
export { type MediaStorage, StorageError } from "./storage/media-storage.ts";
export { drawPicture } from "./test/pictures.ts";
export { mp4Of } from "./test/videos.ts";
