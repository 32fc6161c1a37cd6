// The one error that our code throws on purpose. It crosses service borders intact and renders itself nowhere:
// the gateway's renderer does that. Any other error becomes internal_error, its text kept from callers.
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorRow, isReason, type Reason } from "./error-table.ts";
import { ErrorDetailSchema } from "./gen/router/errors/v1/errors_pb.ts";

export interface ServiceErrorOptions {
  /** The request field at fault. */
  readonly param?: string;
  /** Milliseconds after which trying again may help. */
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

export class ServiceError extends Error {
  override readonly name = "ServiceError";
  readonly reason: Reason;
  readonly param: string | undefined;
  readonly retryAfterMs: number | undefined;

  /** @param message one sentence for the caller of the public API; never holds a secret or an internal name. */
  constructor(reason: Reason, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.param = options.param;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** Converts an error for the wire: a ServiceError with its detail, any other as a bare internal error. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (!(error instanceof ServiceError)) {
    return new ConnectError("internal error", Code.Internal, undefined, undefined, error);
  }
  const detail = create(ErrorDetailSchema, {
    reason: error.reason,
    message: error.message,
    param: error.param ?? "",
    retryAfterMs: BigInt(error.retryAfterMs ?? 0),
  });
  const outgoing = { desc: ErrorDetailSchema, value: detail };
  return new ConnectError(error.message, errorRow(error.reason).rpc, undefined, [outgoing], error);
}

/** Returns the ServiceError that another service threw; any other error unchanged. */
export function fromConnectError(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  const [detail] = error.findDetails(ErrorDetailSchema);
  if (detail === undefined || !isReason(detail.reason)) return error;
  return new ServiceError(detail.reason, detail.message, {
    ...(detail.param === "" ? {} : { param: detail.param }),
    ...(detail.retryAfterMs === 0n ? {} : { retryAfterMs: Number(detail.retryAfterMs) }),
    cause: error,
  });
}
