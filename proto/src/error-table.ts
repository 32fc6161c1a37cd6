// Every reason for which a request can fail, one row each: RPC code, HTTP status, type, code, retry.
// Nothing else in the code base decides a status; docs/errors.md is checked against this table. The words of refusals by
// balance, limit or budget are in `packages/clients/src/refusal.ts`, those about keys in `packages/identity/src/`.
import { Code } from "@connectrpc/connect";

/** Value of `x-should-retry` for an SDK; absent = the header is not sent and the SDK decides by status. */
type Retry = "helps" | "never";

interface ErrorRow {
  readonly rpc: Code;
  readonly status: number;
  readonly type: string;
  /** `error.code` of the body; absent = the body has none. */
  readonly code?: string;
  readonly retry?: Retry;
}

const badRequest = { rpc: Code.InvalidArgument, status: 400, type: "invalid_request_error" } as const;
const unauthorized = { rpc: Code.Unauthenticated, status: 401, type: "unauthorized" } as const;
const forbidden = { rpc: Code.PermissionDenied, status: 403, type: "forbidden" } as const;
const payment = { rpc: Code.FailedPrecondition, status: 402 } as const;

export const errorTable = {
  /** The request is not HTTP, or it is HTTP that two readers could understand in two ways. */
  invalid_http: { ...badRequest, code: "invalid_http" },
  invalid_json: { ...badRequest, code: "invalid_json" },
  invalid_value: { ...badRequest, code: "invalid_value" },
  vision_not_supported: { ...badRequest, code: "vision_not_supported" },
  content_policy_violation: { ...badRequest, code: "content_policy_violation", retry: "never" },
  image_download_failed: { ...badRequest, code: "image_download_failed" },
  url_not_allowed: { ...badRequest, code: "url_not_allowed" },
  invalid_image: { ...badRequest, code: "invalid_image" },
  wrong_endpoint: { ...badRequest, code: "wrong_endpoint" },
  /** The upstream refused the request as invalid; its message is passed on. */
  rejected_by_provider: { ...badRequest, code: "rejected_by_provider", retry: "never" },
  /** A link from a console mail is unknown, used, or expired. */
  invalid_link: { ...badRequest, code: "invalid_link" },
  /** The second half of a two-part sign-in arrived too late, twice, or from another browser. */
  sign_in_expired: { ...badRequest, code: "sign_in_expired" },
  /** The sender of a payment event is not the payment service. */
  invalid_signature: { ...badRequest, code: "invalid_signature" },
  /** The request's highest possible cost exceeds the header x-max-cost; nothing was sent. */
  max_cost_exceeded: { ...badRequest, code: "max_cost_exceeded", retry: "never" },
  invalid_api_key: { ...unauthorized, code: "invalid_api_key" },
  api_key_expired: { ...unauthorized, code: "api_key_expired" },
  wrong_key_kind: { ...unauthorized, code: "wrong_key_kind" },
  not_signed_in: { ...unauthorized, code: "not_signed_in" },
  invalid_credentials: { ...unauthorized, code: "invalid_credentials" },
  /** The operator suspended the account: it may not spend until the suspension is lifted. */
  account_suspended: { ...forbidden, code: "account_suspended" },
  /** The allow-lists of the API key exclude the model, or all its providers. */
  model_not_allowed: { ...forbidden, code: "model_not_allowed", retry: "never" },
  email_not_verified: { ...forbidden, code: "email_not_verified" },
  /** Steps that are as sensitive as a password need a fresh session. */
  session_too_old: { ...forbidden, code: "session_too_old" },
  role_required: { ...forbidden, code: "role_required" },
  /** The issuer refused, or its answer permits no sign-in. */
  sign_in_refused: { ...forbidden, code: "sign_in_refused" },
  sign_up_closed: { ...forbidden, code: "sign_up_closed" },
  /** The installation does not accept payments by accounts. */
  payments_not_taken: { ...forbidden, code: "payments_not_taken" },
  /** A browser sent it on behalf of a page that is not the console's. */
  cross_site_request: { ...forbidden, code: "cross_site_request" },
  insufficient_credits: { ...payment, type: "insufficient_credits", code: "insufficient_credits" },
  spend_limit_exceeded: { ...payment, type: "spend_limit_exceeded", code: "spend_limit_exceeded" },
  credits_in_flight: { ...payment, type: "insufficient_credits", code: "in_flight", retry: "helps" },
  /** A budget above the key is closed or has expired. */
  budget_closed: { ...payment, type: "budget_closed", code: "budget_closed" },
  spend_limit_in_flight: { ...payment, type: "spend_limit_exceeded", code: "in_flight", retry: "helps" },
  model_not_found: {
    rpc: Code.NotFound,
    status: 404,
    type: "invalid_request_error",
    code: "model_not_found",
  },
  key_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error" },
  media_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  generation_not_found: {
    rpc: Code.NotFound,
    status: 404,
    type: "invalid_request_error",
    code: "not_found",
  },
  /** A delivery of a webhook. */
  delivery_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  /** A default receiver of webhooks. */
  receiver_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  account_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  budget_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  person_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  passkey_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  invoice_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  invitation_not_found: {
    rpc: Code.NotFound,
    status: 404,
    type: "invalid_request_error",
    code: "not_found",
  },
  route_not_found: { rpc: Code.NotFound, status: 404, type: "invalid_request_error", code: "not_found" },
  /** A WebSocket was asked for on a path of HTTP requests. Clients then fall back to HTTP at once. */
  websocket_not_supported: {
    rpc: Code.Unimplemented,
    status: 426,
    type: "invalid_request_error",
    code: "websocket_not_supported",
    retry: "never",
  },
  method_not_allowed: {
    rpc: Code.Unimplemented,
    status: 405,
    type: "invalid_request_error",
    code: "method_not_allowed",
  },
  request_timeout: {
    rpc: Code.DeadlineExceeded,
    status: 408,
    type: "invalid_request_error",
    code: "request_timeout",
  },
  idempotency_in_progress: {
    rpc: Code.Aborted,
    status: 409,
    type: "invalid_request_error",
    code: "idempotency_in_progress",
    retry: "helps",
  },
  /** The request that has the Idempotency-Key was charged, and its answer was not kept (b64_ephemeral, or too large). */
  idempotency_not_replayable: {
    rpc: Code.FailedPrecondition,
    status: 409,
    type: "invalid_request_error",
    code: "idempotency_not_replayable",
    retry: "never",
  },
  /** The caller cancelled a generation of the log. */
  generation_cancelled: {
    rpc: Code.Aborted,
    status: 409,
    type: "invalid_request_error",
    code: "cancelled",
    retry: "never",
  },
  /** A generation with a waiting caller cannot be deleted while it runs. */
  generation_running: {
    rpc: Code.FailedPrecondition,
    status: 409,
    type: "invalid_request_error",
    code: "generation_running",
    retry: "helps",
  },
  /** The file of a job that has not ended. */
  content_not_ready: {
    rpc: Code.FailedPrecondition,
    status: 409,
    type: "invalid_request_error",
    code: "not_ready",
    retry: "helps",
  },
  too_many_keys: {
    rpc: Code.FailedPrecondition,
    status: 409,
    type: "invalid_request_error",
    code: "too_many_keys",
    retry: "never",
  },
  too_many_budgets: {
    rpc: Code.FailedPrecondition,
    status: 409,
    type: "invalid_request_error",
    code: "too_many_budgets",
    retry: "never",
  },
  too_many_receivers: {
    rpc: Code.FailedPrecondition,
    status: 409,
    type: "invalid_request_error",
    code: "too_many_receivers",
    retry: "never",
  },
  /** An account always has an owner. */
  last_owner: {
    rpc: Code.FailedPrecondition,
    status: 409,
    type: "invalid_request_error",
    code: "last_owner",
    retry: "never",
  },
  already_member: {
    rpc: Code.AlreadyExists,
    status: 409,
    type: "invalid_request_error",
    code: "already_member",
    retry: "never",
  },
  /** The file of a job was deleted at the end of its retention. */
  content_expired: {
    rpc: Code.NotFound,
    status: 410,
    type: "invalid_request_error",
    code: "expired",
    retry: "never",
  },
  body_too_large: {
    rpc: Code.ResourceExhausted,
    status: 413,
    type: "invalid_request_error",
    code: "body_too_large",
  },
  unsupported_media_type: {
    rpc: Code.InvalidArgument,
    status: 415,
    type: "invalid_request_error",
    code: "unsupported_media_type",
  },
  /** The Content-Range header of the answer names the size. */
  range_not_satisfiable: {
    rpc: Code.OutOfRange,
    status: 416,
    type: "invalid_request_error",
    code: "range_not_satisfiable",
  },
  idempotency_mismatch: {
    rpc: Code.InvalidArgument,
    status: 422,
    type: "invalid_request_error",
    code: "idempotency_mismatch",
  },
  rate_limit_exceeded: {
    rpc: Code.ResourceExhausted,
    status: 429,
    type: "rate_limit_error",
    code: "rate_limit_exceeded",
    retry: "helps",
  },
  /** Wrong passwords, mails, new accounts: counted by person and by address. */
  too_many_attempts: {
    rpc: Code.ResourceExhausted,
    status: 429,
    type: "rate_limit_error",
    code: "too_many_attempts",
  },
  /** Requests to free models, by account and UTC day. */
  free_limit_exceeded: {
    rpc: Code.ResourceExhausted,
    status: 429,
    type: "rate_limit_error",
    code: "free_limit_exceeded",
    retry: "never",
  },
  headers_too_large: {
    rpc: Code.ResourceExhausted,
    status: 431,
    type: "invalid_request_error",
    code: "headers_too_large",
  },
  credits_unavailable: { rpc: Code.Internal, status: 500, type: "internal_error" },
  internal_error: { rpc: Code.Internal, status: 500, type: "internal_error" },
  /** One of our services was lost after it received the request, which may have been carried out. */
  outcome_unknown: {
    rpc: Code.Unknown,
    status: 500,
    type: "internal_error",
    code: "outcome_unknown",
    retry: "never",
  },
  provider_error: {
    rpc: Code.Unavailable,
    status: 502,
    type: "provider_error",
    code: "provider_error",
    retry: "never",
  },
  provider_unavailable: {
    rpc: Code.Unavailable,
    status: 503,
    type: "provider_error",
    code: "provider_unavailable",
    retry: "helps",
  },
  billing_unavailable: {
    rpc: Code.Unavailable,
    status: 503,
    type: "internal_error",
    code: "billing_unavailable",
    retry: "helps",
  },
  /** Another of our services did not answer; nothing was charged. */
  service_unavailable: {
    rpc: Code.Unavailable,
    status: 503,
    type: "internal_error",
    code: "service_unavailable",
    retry: "helps",
  },
  provider_timeout: {
    rpc: Code.DeadlineExceeded,
    status: 504,
    type: "provider_error",
    code: "provider_timeout",
    retry: "never",
  },
} as const satisfies Record<string, ErrorRow>;

export type Reason = keyof typeof errorTable;

/** The row of a reason, widened so that optional columns can be read. */
export function errorRow(reason: Reason): ErrorRow {
  return errorTable[reason];
}

/** Returns true if a string (from another process) names a row of this table. */
export function isReason(reason: string): reason is Reason {
  return Object.hasOwn(errorTable, reason);
}
