// A text request with what is fixed before it is sent: its hold, and the price that its tokens have.
import type { Order } from "@gr/paid-request";
import type { TokenPrice } from "@gr/proto/catalog";
import type { HoldSize } from "./hold-size.ts";
import type { TextRequest } from "./text-request.ts";

export interface TextOrder extends Order {
  readonly request: TextRequest;
  readonly price: TokenPrice;
  readonly size: HoldSize;
  /** A stream that breaks off is to be gone on with elsewhere, where that is possible. */
  readonly continues: boolean;
}
