// What the handlers of the console work with; module.ts makes one of these.
import type { BillingReportService, BillingService } from "@gr/proto/billing";
import type { KeysService } from "@gr/proto/keys";
import type { MediaGenerationService } from "@gr/proto/media";
import type { Clock, ServiceClient } from "@gr/runtime";
import type { Attempts } from "./attempts.ts";
import type { ConsoleConfig } from "./config.ts";
import type { ConsoleEvents } from "./events.ts";
import type { Links } from "./links.ts";
import type { Mailer } from "./mailer.ts";
import type { ModelKinds } from "./model-kinds.ts";
import type { People } from "./people.ts";
import type { ConsoleStore } from "./store.ts";

export interface ConsoleDeps {
  readonly config: ConsoleConfig;
  readonly store: ConsoleStore;
  readonly people: People;
  readonly attempts: Attempts;
  readonly mailer: Mailer;
  readonly links: Links;
  readonly keys: ServiceClient<typeof KeysService>;
  readonly billing: ServiceClient<typeof BillingService>;
  readonly reports: ServiceClient<typeof BillingReportService>;
  readonly media: ServiceClient<typeof MediaGenerationService>;
  readonly modelKinds: ModelKinds;
  readonly events: ConsoleEvents;
  readonly clock: Clock;
}
