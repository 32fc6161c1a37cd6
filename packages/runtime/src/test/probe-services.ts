// Probe services are RPC services that act on the account id of a call as a test demands, and a log that keeps its
// lines.
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { ServiceError } from "@gr/proto";
import { BillingService, type GetCreditsRequest, SpenderUsageSchema } from "@gr/proto/billing";
import { CatalogService } from "@gr/proto/catalog";
import { pino } from "pino";
import type { Logger } from "../process/logger.ts";
import { implement, type RpcService } from "../rpc/rpc-service.ts";

const LARGE = "x".repeat(17 * 1024 * 1024);

export class Probe {
  /** The last request and answer, as the implementation holds them. */
  lastRequest: GetCreditsRequest | undefined;
  readonly answer = {
    depositedCredits: 5n,
    remainingCredits: 3n,
    // A message and not only its values: a complete message could be passed on uncopied.
    usage: [create(SpenderUsageSchema, { usedCredits: 2n, requests: 1n })],
  };
  requestIds: (string | null)[] = [];
  /** Resolves when a call to "wait" notices its caller's end or its deadline. */
  aborted = Promise.withResolvers<void>();
  /** Resolves when the implementation of the stream has ended. */
  streamEnded = Promise.withResolvers<void>();
  entered = Promise.withResolvers<void>();
  /** End of the catalogue stream. */
  stream: "end" | "service error" | "bug" | "wait" = "end";

  services(): RpcService[] {
    const unused = async (): Promise<never> => {
      throw new ConnectError("unused", Code.Unimplemented);
    };
    const billing = implement(BillingService, {
      post: async ({ operations }) => ({ outcomes: operations.map(() => ({ code: 1 })) }),
      openAccount: async () => ({}),
      setSuspended: unused,
      putSpender: unused,
      putDeposit: unused,
      listHolds: unused,
      leaseExpiredHolds: unused,
      verifyLedger: unused,
      putAdjustment: unused,
      keepAnswer: unused,
      readAnswer: unused,
      judgeClaim: unused,
      checkSpender: unused,
      getCredits: (request, context) => this.#getCredits(request, context),
    });
    const catalog = implement(CatalogService, {
      getCatalog: unused,
      watchCatalog: (request, context) => this.#watch(request, context),
    });
    return [billing, catalog];
  }

  async #getCredits(request: GetCreditsRequest, context: HandlerContext) {
    this.lastRequest = request;
    this.requestIds.push(context.requestHeader.get("x-request-id"));
    switch (request.accountId) {
      case "service error":
        throw new ServiceError("spend_limit_in_flight", "The limit is reserved.", {
          param: "model",
          retryAfterMs: 1_500,
        });
      case "bug":
        throw new TypeError("the password is hunter2");
      case "large answer":
        return { usage: [{ spender: { name: LARGE } }] };
      case "wait":
        this.entered.resolve();
        await this.#untilAborted(context.signal);
        return {};
      default:
        return this.answer;
    }
  }

  async *#watch(_request: unknown, context: HandlerContext) {
    try {
      yield { catalog: { version: "1" } };
      yield { catalog: { version: "2" } };
      await this.#finishStream(context);
    } finally {
      this.streamEnded.resolve();
    }
  }

  async #finishStream(context: HandlerContext): Promise<void> {
    if (this.stream === "service error")
      throw new ServiceError("model_not_found", "Gone.", { param: "model" });
    if (this.stream === "bug") throw new TypeError("the password is hunter2");
    if (this.stream === "wait") await this.#untilAborted(context.signal);
  }

  async #untilAborted(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    this.aborted.resolve();
  }
}

export interface KeptLog {
  readonly log: Logger;
  readonly lines: Record<string, unknown>[];
}

export function keptLog(): KeptLog {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(JSON.parse(line)) });
  return { log, lines };
}
