// The rules for bodies of requests that cost money. Whoever can pay for nothing cannot make a service take in much: before a
// large body is read, billing is asked whether its sender could place the smallest hold. And what is taken in has a bound.
import type { Billing } from "@gr/clients";
import type { Credits } from "@gr/money";
import { type BodyMeter, type BodyRules, ByteBudget } from "@gr/runtime";
import { type Claimant, claimKeyOf } from "./claim.ts";

/** Requests to free models cost nothing, and which model is meant stands in the body: so long may those be. */
const FREE_BYTES = 1024 * 1024;

type Request = Parameters<BodyRules["ownerOf"]>[0];

export interface PaidBodiesOptions {
  readonly billing: Pick<Billing, "maySpend">;
  /** Returns the caller of a request. @throws ServiceError without one */
  readonly spenderOf: (request: Request) => Claimant & { readonly accountId: string };
  /**
   * Counts what a body will cost at least while it arrives.
   * @param canPay asks whether its sender can pay that much. @throws ServiceError if not
   */
  readonly meter?: (request: Request, canPay: (least: Credits) => Promise<void>) => BodyMeter | undefined;
  /** That requests of one process hold at the same time. */
  readonly mostBytes: number;
}

export function rulesOfPaidBodies({ billing, spenderOf, mostBytes, meter }: PaidBodiesOptions): BodyRules {
  const ask = async (request: Request, credits: Credits) => {
    const spender = spenderOf(request);
    const { accountId, keyId: spenderId } = spender;
    const claimKey = claimKeyOf(request.headers, request.routeOptions.url ?? "", spender);
    await billing.maySpend({ accountId, spenderId, claimKey, credits });
  };
  return {
    freeBytes: FREE_BYTES,
    admit: (request) => ask(request, 0n),
    ...(meter && { meter: (request) => meter(request, (least) => ask(request, least)) }),
    budget: new ByteBudget(mostBytes),
    ownerOf: (request) => spenderOf(request).accountId,
  };
}
