// Body rules limit the bodies of requests that cost money. Before a large body is read, billing decides whether the
// sender could place the smallest hold. A process holds a bounded number of bytes.
import type { Billing } from "@gr/clients";
import type { Credits } from "@gr/money";
import { type BodyMeter, type BodyRules, ByteBudget } from "@gr/runtime";
import { type Claimant, claimKeyOf } from "./claim.ts";

/**
 * Largest body that is read without a check of the sender's credits, in bytes. Free models need such bodies, and the
 * model is named in the body.
 */
const FREE_BYTES = 1024 * 1024;

type Request = Parameters<BodyRules["ownerOf"]>[0];

export interface PaidBodiesOptions {
  readonly billing: Pick<Billing, "maySpend">;
  /** Returns the caller of a request. @throws ServiceError without one */
  readonly spenderOf: (request: Request) => Claimant & { readonly accountId: string };
  /**
   * Counts the minimum cost of a body while it arrives.
   * @param canPay resolves if the sender can pay these credits. @throws ServiceError if not
   */
  readonly meter?: (request: Request, canPay: (least: Credits) => Promise<void>) => BodyMeter | undefined;
  /** Bytes of bodies that one process holds at the same time. */
  readonly mostBytes: number;
}

export function rulesOfPaidBodies({ billing, spenderOf, mostBytes, meter }: PaidBodiesOptions): BodyRules {
  const ask = async (request: Request, credits: Credits) => {
    const spender = spenderOf(request);
    const { accountId, keyId: spenderId, personId } = spender;
    const claimKey = claimKeyOf(request.headers, request.routeOptions.url ?? "", spender);
    await billing.maySpend({ accountId, spenderId, personId, claimKey, credits });
  };
  return {
    freeBytes: FREE_BYTES,
    admit: (request) => ask(request, 0n),
    ...(meter && { meter: (request) => meter(request, (least) => ask(request, least)) }),
    budget: new ByteBudget(mostBytes),
    ownerOf: (request) => spenderOf(request).accountId,
  };
}
