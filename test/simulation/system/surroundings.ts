// What all processes of a history have around them.
import type { Ledger } from "../ledger/ledger.ts";
import type { World } from "../world/world.ts";
import type { BillingProcess } from "./billing-process.ts";
import type { GenerationTable } from "./generation-rows.ts";
import type { Files } from "./media-parts.ts";
import type { Request } from "./request.ts";
import type { Upstream } from "./upstream.ts";

export interface Surroundings {
  readonly world: World;
  readonly ledger: Ledger;
  /** By name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly billing: readonly BillingProcess[];
  readonly requests: readonly Request[];
  readonly table: GenerationTable;
  readonly files: Files;
}
