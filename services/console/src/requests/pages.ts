// Pages cut the lists of the console: by a limit, and by a cursor that is the id of the last entry.
import { PAGE_USUAL } from "@gr/console-api";
import { ServiceError } from "@gr/proto";

export function pageLimit({ limit }: { readonly limit?: string | undefined }): number {
  return limit === undefined ? PAGE_USUAL : Number(limit);
}

/** @throws ServiceError invalid_value */
export function bigintCursor(after: string | undefined): bigint | undefined {
  if (after === undefined) return undefined;
  if (!/^[1-9]\d{0,17}$/.test(after)) throw invalidAfter();
  return BigInt(after);
}

export function invalidAfter(): ServiceError {
  const message = 'It must be the "next" of the page before (field "after").';
  return new ServiceError("invalid_value", message, { param: "after" });
}
