// rotateKey replaces the secret of a key. The key stays the same for billing and for the log, so both secrets spend from
// one limit. Billing does not take part.
import { createKeySecret } from "@gr/identity";
import type { ApiKey } from "../records/key.ts";
import { hintOf } from "../records/key-digest.ts";
import { findKey, keyNotFound, type OwnKey } from "./change-key.ts";
import type { KeyDeps } from "./key-deps.ts";

/**
 * Replaces the newest secret. A former secret that still works keeps its end, so a repeated rotation ends no secret that
 * programs use.
 * @param overlapMs time for which the replaced secret works, if no former secret works; 0 ends all other secrets
 * @throws ServiceError key_not_found
 */
export async function rotateKey(
  deps: KeyDeps,
  which: OwnKey,
  overlapMs: number,
): Promise<{ key: ApiKey; secret: string }> {
  const { store, clock, digestOf, unknownDigests, revocations, events } = deps;
  const { id, kind } = await findKey(deps, which);
  const secret = createKeySecret(kind);
  const now = clock.now();
  const formerEndsAt = overlapMs === 0 ? null : now + overlapMs;
  const replacement = { digest: digestOf(secret), hint: hintOf(secret), formerEndsAt, now };
  const key = await store.replaceSecret(id, replacement);
  if (key === undefined) throw keyNotFound();
  unknownDigests.clear();
  revocations.rotated(key);
  events.keyRotated(key);
  return { key, secret };
}
