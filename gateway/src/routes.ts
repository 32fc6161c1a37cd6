// The route table maps path prefixes of the public API to modules, with access, rate limit class and spending.
// One table decides authentication and routing, by the text of the path as it arrived, so they cannot differ.

import { type Reason, ServiceError } from "@gr/proto";

/** normal or management: that kind of key only; optional: a key is checked if present; public: keys are ignored. */
export type Access = "normal" | "management" | "optional" | "public";

export interface RouteRow {
  readonly prefix: string;
  readonly module: string;
  readonly access: Access;
  /** Rate limit class of its requests. */
  readonly class: "text" | "media" | "downloads" | "other";
  /** Billing checks the key again before any spending, so a recent verification is enough for its requests. */
  readonly spends: boolean;
  /** Error for an unreachable module, if the specification has a special one. */
  readonly failure?: { readonly reason: Reason; readonly message: string };
  /** Longest silence of a module in another process, after which the request counts as lost; absent: hours. */
  readonly longestSilenceMs?: number;
  /** Request headers for its module besides the common ones. */
  readonly keeps?: readonly string[];
  /** The module reports the person of a session, and requests of this person count for the person. */
  readonly signsIn?: true;
  /** For our own web application only: no part of the public API's description. */
  readonly internal?: true;
  /** Row of the same prefix for requests that spend nothing: all but POST; absent: this row is for every method. */
  readonly reads?: RouteRow;
}

/** Network of the client, written by the gateway: an IPv4 address or an IPv6 /64. */
export const CLIENT_NETWORK_HEADER = "x-client-network";

/** Longest duration of a call between services. */
const QUICK = { longestSilenceMs: 10_000 } as const;
/**
 * Deletions and changes of keys call billing, which may need that time; the module's own error is more precise than
 * ours.
 */
const QUICK_WITH_BILLING = { longestSilenceMs: 15_000 } as const;
const textProxy = { module: "text-proxy", access: "normal", class: "text", spends: true } as const;
const media = { module: "media-generation", access: "normal", class: "media", spends: true } as const;
const other = { class: "other", spends: false, ...QUICK } as const;

/** Input pictures are fetched, since their size may be part of the price. */
const quote = { class: "other", access: "normal", spends: false, longestSilenceMs: 120_000 } as const;

const VIDEOS = "/v1/compat/videos";

/** Same message as billing's own. */
const creditsFailure = {
  reason: "credits_unavailable",
  message: "Fetching credit information failed; try again shortly.",
} as const;

export const routeTable: readonly RouteRow[] = [
  { prefix: "/v1/compat/chat/completions", ...textProxy },
  { prefix: "/v1/compat/responses", ...textProxy },
  { prefix: "/v1/compat/images", ...media },
  {
    prefix: VIDEOS,
    ...media,
    reads: { prefix: VIDEOS, module: "media-generation", access: "normal", ...other },
  },
  { prefix: "/v1/quote/chat/completions", module: "text-proxy", ...quote },
  { prefix: "/v1/quote/responses", module: "text-proxy", ...quote },
  { prefix: "/v1/quote/images", module: "media-generation", ...quote },
  { prefix: "/v1/quote/videos", module: "media-generation", ...quote },
  { prefix: "/v1/generations", module: "media-generation", access: "normal", ...other },
  { prefix: "/v1/webhooks", module: "media-generation", access: "normal", ...other },
  { prefix: "/v1/account/webhooks", module: "media-generation", access: "management", ...other },
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
  { prefix: "/v1/budgets", module: "keys", access: "management", ...other, ...QUICK_WITH_BILLING },
  { prefix: "/v1/auth", module: "keys", access: "normal", ...other },
  {
    prefix: "/console/api",
    module: "console",
    access: "public",
    ...other,
    // Calls keys, which calls billing.
    longestSilenceMs: 20_000,
    // Session of the person, and the origin of the page.
    keeps: ["cookie", "origin", "sec-fetch-site", CLIENT_NETWORK_HEADER],
    signsIn: true,
    internal: true,
  },
  {
    prefix: "/webhooks/stripe",
    module: "console",
    access: "public",
    ...other,
    // Calls Stripe, then billing.
    longestSilenceMs: 20_000,
    keeps: ["stripe-signature"],
    internal: true,
  },
  { prefix: "/v1/activity", module: "billing", access: "normal", ...other },
  { prefix: "/v1/credits", module: "billing", access: "normal", ...other, failure: creditsFailure },
];

/**
 * Returns the row of a request target, compared in whole segments and without decoding: a path that spells a prefix in
 * another way has no row.
 */
export function rowOf(target: string, method: string): RouteRow | undefined {
  for (const row of routeTable) {
    if (!target.startsWith(row.prefix)) continue;
    const next = target[row.prefix.length];
    if (next !== undefined && next !== "/" && next !== "?") continue;
    return method === "POST" ? row : (row.reads ?? row);
  }
  return undefined;
}

/** Returns the client's error for a failed authenticated request. */
export function failureOf(target: string, method: string, error: unknown): unknown {
  const failure = rowOf(target, method)?.failure;
  const unreached = error instanceof ServiceError && error.reason === "service_unavailable";
  if (failure === undefined || !unreached) return error;
  return new ServiceError(failure.reason, failure.message, { cause: error });
}

/** Returns the modules with routes in the public API. */
export function describedModules(): string[] {
  return [...new Set(routeTable.filter(({ internal }) => internal !== true).map(({ module }) => module))];
}

/** Returns the rows of each module. */
export function mountPoints(): Map<string, RouteRow[]> {
  const points = new Map<string, RouteRow[]>();
  for (const row of routeTable) points.set(row.module, [...(points.get(row.module) ?? []), row]);
  return points;
}
