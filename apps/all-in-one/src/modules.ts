// The modules of a whole router, in no particular order: the runtime sorts them by need.
import { billingModule } from "@gr/billing";
import { catalogModule } from "@gr/catalog";
import { consoleModule } from "@gr/console";
import { gatewayModule } from "@gr/gateway";
import { keysModule } from "@gr/keys";
import { mediaGenerationModule } from "@gr/media-generation";
import { textProxyModule } from "@gr/text-proxy";

export const routerModules = [
  billingModule,
  catalogModule,
  consoleModule,
  gatewayModule,
  keysModule,
  mediaGenerationModule,
  textProxyModule,
];
