// Lists the keys of an account, a page at a time.
import { ServiceError } from "@gr/proto";
import { isUuid, type Page } from "@gr/runtime";
import type { KeyKind } from "../records/key.ts";
import type { KeyPage } from "../records/store.ts";
import type { KeyDeps } from "./key-deps.ts";

/** @throws ServiceError invalid_value with param `after` when that is no key of the account */
export async function listKeys(
  { store }: Pick<KeyDeps, "store">,
  accountId: string,
  kind: KeyKind | undefined,
  page: Page,
): Promise<KeyPage> {
  const { after } = page;
  // A key that has been deleted since is a place in the list all the same.
  const known =
    after === undefined || (isUuid(after) && (await store.findById(after))?.accountId === accountId);
  if (known) return store.list(accountId, kind, page);
  const message = 'It must be the id of a key of this account (field "after").';
  throw new ServiceError("invalid_value", message, { param: "after" });
}
