// One request under way: what is fixed from the moment its hold is placed until the hold is resolved, and what
// everything that works on requests shares.
import type { Billing, CatalogCopy } from "@gr/clients";
import type { Credits } from "@gr/money";
import type { TokenPrice } from "@gr/proto/catalog";
import type { Clock } from "@gr/runtime";
import type { AnswerCopy } from "./answer-copy.ts";
import type { TextProxyConfig } from "./config.ts";
import type { TextEvents } from "./events.ts";
import type { HoldResolver } from "./resolve-holds.ts";
import type { RunningRequests } from "./running-requests.ts";
import type { TextRequest } from "./text-request.ts";
import type { Upstream } from "./upstream.ts";

export interface TextDeps {
  readonly config: TextProxyConfig;
  readonly billing: Billing;
  readonly catalog: CatalogCopy;
  /** Undefined when none is configured. */
  readonly upstream: Upstream | undefined;
  readonly resolver: HoldResolver;
  readonly running: RunningRequests;
  readonly events: TextEvents;
  readonly clock: Clock;
}

export interface Exchange {
  /** UUID of the request and of its hold; the upstream gets it as x-request-id. */
  readonly id: string;
  readonly request: TextRequest;
  readonly upstream: Upstream;
  /** The model's name upstream. */
  readonly upstreamModel: string;
  readonly price: TokenPrice;
  readonly held: Credits;
  /** Of a request with an Idempotency-Key: what its client gets, to be kept before the capture. */
  readonly copy: AnswerCopy | undefined;
}
