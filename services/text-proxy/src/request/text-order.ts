// TextOrder is a text request with all facts that are fixed before it is sent: its hold, and the price of its tokens.
import type { Order } from "@gr/paid-request";
import type { TokenPrice } from "@gr/proto/catalog";
import type { PriceTerms } from "@gr/text-upstream";
import type { HoldSize } from "./hold-size.ts";
import type { TextRequest } from "./text-request.ts";

export interface TextOrder extends Order {
  readonly request: TextRequest;
  readonly price: TokenPrice;
  /** Effects of the request's fields on the price, by upstream. Absent = none. */
  readonly priceTerms?: ReadonlyMap<string, PriceTerms>;
  /** The upstream of the running attempt. Absent before the first. */
  readonly asked?: string;
  readonly size: HoldSize;
  /** True if another upstream is to continue a broken stream where possible. */
  readonly continues: boolean;
  /** True if the key saves prompts and answers. */
  readonly savesTexts: boolean;
}
