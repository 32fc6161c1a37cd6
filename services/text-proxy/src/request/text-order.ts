// A text request with what is fixed before it is sent: its hold, and the price that its tokens have.
import type { Order } from "@gr/paid-request";
import type { TokenPrice } from "@gr/proto/catalog";
import type { PriceTerms } from "@gr/text-upstream";
import type { HoldSize } from "./hold-size.ts";
import type { TextRequest } from "./text-request.ts";

export interface TextOrder extends Order {
  readonly request: TextRequest;
  readonly price: TokenPrice;
  /** By upstream: the effects on the price that its fields have there. Absent = none. */
  readonly priceTerms?: ReadonlyMap<string, PriceTerms>;
  /** The upstream of the running attempt. Absent before there is one. */
  readonly asked?: string;
  readonly size: HoldSize;
  /** A stream that breaks off is to be gone on with elsewhere, where that is possible. */
  readonly continues: boolean;
}
