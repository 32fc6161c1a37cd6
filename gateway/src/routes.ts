// The public API by path prefix: which module serves it, who may call it, how it is limited, whether it spends.
// One table decides authentication and routing, by the text of the path as it arrived, so they cannot differ.

import { type Reason, ServiceError } from "@gr/proto";

/** normal or management: that kind of key only; optional: a key is checked when given; public: keys are ignored. */
export type Access = "normal" | "management" | "optional" | "public";

export interface RouteRow {
  readonly prefix: string;
  readonly module: string;
  readonly access: Access;
  /** What its requests count as in rate limits. */
  readonly class: "text" | "media" | "downloads" | "other";
  /** Billing checks the key again before anything is spent, so its requests may rest on a recent verification. */
  readonly spends: boolean;
  /** What clients are told when the module is not reached, where the specification has words of its own for it. */
  readonly failure?: { readonly reason: Reason; readonly message: string };
  /** How long a module in another process may be silent until the request counts as lost; absent: hours. */
  readonly longestSilenceMs?: number;
  /** Request headers that its module sees besides those that every module does. */
  readonly keeps?: readonly string[];
  /** Its module reports the person whose session a request has, and requests of this person count for the person. */
  readonly signsIn?: true;
  /** For our own web application only: no part of the public API's description. */
  readonly internal?: true;
}

/** Where a request comes from, said by us: an IPv4 address or an IPv6 /64. */
export const CLIENT_NETWORK_HEADER = "x-client-network";

/** As long as a call between services may take. */
const QUICK = { longestSilenceMs: 10_000 } as const;
/** Deleting and changing keys asks billing, which may take as long; the module's own answer says more than ours. */
const QUICK_WITH_BILLING = { longestSilenceMs: 15_000 } as const;
const textProxy = { module: "text-proxy", access: "normal", class: "text", spends: true } as const;
const media = { module: "media-generation", access: "normal", class: "media", spends: true } as const;
const other = { class: "other", spends: false, ...QUICK } as const;

/** Pictures that a request brings along are fetched, since their size may be part of the price. */
const quote = { class: "other", access: "normal", spends: false, longestSilenceMs: 120_000 } as const;

/** As billing says it itself. */
const creditsFailure = {
  reason: "credits_unavailable",
  message: "Fetching credit information failed; try again shortly.",
} as const;

export const routeTable: readonly RouteRow[] = [
  { prefix: "/v1/compat/chat/completions", ...textProxy },
  { prefix: "/v1/compat/responses", ...textProxy },
  { prefix: "/v1/compat/images", ...media },
  { prefix: "/v1/compat/videos", ...media },
  { prefix: "/v1/quote/chat/completions", module: "text-proxy", ...quote },
  { prefix: "/v1/quote/responses", module: "text-proxy", ...quote },
  { prefix: "/v1/quote/images", module: "media-generation", ...quote },
  { prefix: "/v1/quote/videos", module: "media-generation", ...quote },
  { prefix: "/v1/generations", module: "media-generation", access: "normal", ...other },
  {
    prefix: "/media",
    module: "media-generation",
    access: "public",
    class: "downloads",
    spends: false,
    ...QUICK,
  },
  { prefix: "/v1/models", module: "catalog", access: "optional", ...other },
  { prefix: "/v1/compat/models", module: "catalog", access: "optional", ...other },
  { prefix: "/v1/api-keys", module: "keys", access: "management", ...other, ...QUICK_WITH_BILLING },
  { prefix: "/v1/auth", module: "keys", access: "normal", ...other },
  {
    prefix: "/console/api",
    module: "console",
    access: "public",
    ...other,
    // It asks keys, which ask billing.
    longestSilenceMs: 20_000,
    // Who is signed in, and whether a page of ours asks.
    keeps: ["cookie", "origin", "sec-fetch-site", CLIENT_NETWORK_HEADER],
    signsIn: true,
    internal: true,
  },
  {
    prefix: "/webhooks/stripe",
    module: "console",
    access: "public",
    ...other,
    // It asks Stripe, then billing.
    longestSilenceMs: 20_000,
    keeps: ["stripe-signature"],
    internal: true,
  },
  { prefix: "/v1/credits", module: "billing", access: "normal", ...other, failure: creditsFailure },
];

/**
 * The row that a request target lies under, compared in whole segments and without decoding: a path that spells a
 * prefix in another way is under no row.
 */
export function rowOf(target: string): RouteRow | undefined {
  for (const row of routeTable) {
    if (!target.startsWith(row.prefix)) continue;
    const next = target[row.prefix.length];
    if (next === undefined || next === "/" || next === "?") return row;
  }
  return undefined;
}

/** An error of an authenticated request as its client is told of it. */
export function failureOf(target: string, error: unknown): unknown {
  const failure = rowOf(target)?.failure;
  const unreached = error instanceof ServiceError && error.reason === "service_unavailable";
  if (failure === undefined || !unreached) return error;
  return new ServiceError(failure.reason, failure.message, { cause: error });
}

/** The modules whose routes are part of the public API. */
export function describedModules(): string[] {
  return [...new Set(routeTable.filter(({ internal }) => internal !== true).map(({ module }) => module))];
}

/** Where each module is mounted. */
export function mountPoints(): Map<string, RouteRow[]> {
  const points = new Map<string, RouteRow[]>();
  for (const row of routeTable) points.set(row.module, [...(points.get(row.module) ?? []), row]);
  return points;
}
