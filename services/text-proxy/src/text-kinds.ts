// What text requests are to the library of paid requests: their orders, their bills, and what their callers get.
import type { KeptAnswer } from "@gr/clients";
import type { TokenMeters } from "@gr/models";
import type { Bill, Kinds } from "@gr/paid-request";
import type { TextOrder } from "./request/text-order.ts";
import type { Generation } from "./upstream/generation.ts";

export interface TextBill extends Bill {
  readonly meters: TokenMeters;
}

export interface TextProduct {
  /** The last that the caller gets, with the costs put in; of an answer in one piece all of it. */
  readonly last: Buffer;
  /** The whole answer, for whoever repeats a claimed request; undefined when there is no claim, or it is too large. */
  readonly kept: KeptAnswer | undefined;
}

export interface TextKinds extends Kinds {
  order: TextOrder;
  product: TextProduct;
  bill: TextBill;
  found: Generation;
}
