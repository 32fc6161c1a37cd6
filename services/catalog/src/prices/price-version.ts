// The version of a price is the hash of its rule alone. Charges name it for ever.
import { createHash } from "node:crypto";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Price, PriceSchema } from "@gr/proto/catalog";

export type PriceRule = NonNullable<MessageInitShape<typeof PriceSchema>["rule"]>;

/** The same rule has the same version everywhere and for ever. */
export function versioned(rule: PriceRule): Price {
  const unnamed = create(PriceSchema, { rule });
  const version = createHash("sha256").update(toBinary(PriceSchema, unnamed)).digest("hex").slice(0, 16);
  return create(PriceSchema, { version, rule });
}
