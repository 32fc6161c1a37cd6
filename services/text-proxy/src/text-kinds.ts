// Types of text requests for the library of paid requests: their orders, their bills, and their answers.
import type { KeptAnswer } from "@gr/clients";
import type { TokenMeters } from "@gr/models";
import type { Bill, Kinds } from "@gr/paid-request";
import type { TextOrder } from "./request/text-order.ts";
import type { Generation } from "./upstream/generation.ts";

export interface TextBill extends Bill {
  readonly meters: TokenMeters;
}

export interface TextProduct {
  /** Last bytes for the client, with the costs included; the whole of a non-streamed answer. */
  readonly last: Buffer;
  /** The whole answer for repetitions of a claimed request; undefined without a claim, or above the size limit. */
  readonly kept: KeptAnswer | undefined;
}

export interface TextKinds extends Kinds {
  order: TextOrder;
  product: TextProduct;
  bill: TextBill;
  found: Generation;
}
