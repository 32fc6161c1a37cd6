// What generating and resolving work with; module.ts makes one of these.
import type { Billing, CatalogCopy } from "@gr/clients";
import type { Clock } from "@gr/runtime";
import type { MediaGenerationConfig } from "./config.ts";
import type { GenerationEvents } from "./generation/events.ts";
import type { GenerationStore } from "./generation/store.ts";
import type { LeaseKeeper } from "./lease-keeper.ts";
import type { MediaProvider } from "./providers/provider.ts";
import type { ConvertImage } from "./storage/image-file.ts";
import type { MediaStorage } from "./storage/media-storage.ts";

export interface GenerationDeps {
  readonly config: MediaGenerationConfig;
  readonly clock: Clock;
  readonly events: GenerationEvents;
  readonly store: GenerationStore;
  readonly storage: MediaStorage;
  readonly billing: Billing;
  readonly catalog: CatalogCopy;
  readonly providers: ReadonlyMap<string, MediaProvider>;
  readonly convert: ConvertImage;
  readonly leases: LeaseKeeper;
}
