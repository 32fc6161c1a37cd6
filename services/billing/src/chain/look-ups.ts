// Look-ups own the reads of a writer beside the tails: holds that memory has forgotten, ids that begin a second time, and
// owners of Idempotency-Keys.
import { type CreditChange, findHold, type Id, type Outcome, replayHold, type Step } from "@gr/ledger";
import type { PoolClient } from "@gr/runtime";
import { restoreEarlierHolds } from "../before-steps/earlier-hold-store.ts";
import type { AccountWork, Asked } from "./account-work.ts";
import { beginningOf, isCreditChange } from "./chain-operation.ts";
import { readClaims } from "./claim-store.ts";
import { type Beginning, readBeginnings, readHoldSteps } from "./step-store.ts";

const RESOLVED: Outcome = { code: "already_resolved" };
const DONE: Outcome = { code: "done" };

/**
 * Restores holds of an account into memory, or notes that it has none with these ids. A hold of a later step than memory has
 * counts as absent: no answer is final before that step is replayed.
 */
export async function findHolds(client: PoolClient, work: AccountWork, ids: readonly Id[]): Promise<void> {
  const { account, absentHolds } = work;
  const { id: accountId } = account;
  const wanted = [...new Set(ids)];
  const begun = await readBeginnings(
    client,
    wanted.map((id) => ({ accountId, id })),
  );
  const places = begun.filter((step) => step.kind === "place" && step.accountId === accountId);
  await restoreHolds(client, work, places);
  const unknown = wanted.filter((id) => findHold(account, id) === undefined);
  await restoreEarlierHolds(client, account, unknown);
  for (const id of wanted) if (findHold(account, id) === undefined) absentHolds.add(id);
}

/** After a lost race: answers operations with an id that began long ago, or under another account. */
export async function findBeginnings(client: PoolClient, works: readonly AccountWork[]): Promise<void> {
  const asked: (Beginning & { readonly work: AccountWork; readonly it: Asked })[] = [];
  for (const work of works) {
    for (const it of work.asked) {
      const id = beginningOf(it.operation);
      const isKnown = id === undefined || work.answered.has(it) || findHold(work.account, id) !== undefined;
      if (!isKnown) asked.push({ accountId: work.account.id, id, work, it });
    }
  }
  if (asked.length === 0) return;
  const begun = await readBeginnings(client, asked);
  for (const { work, it, id, accountId } of asked) {
    const { operation } = it;
    const step = begun.find((each) => each.id === id && each.kind === operation.kind);
    if (step === undefined) continue;
    if (isCreditChange(operation)) work.answered.set(it, repeatOutcome(operation, step));
    else if (step.accountId !== accountId) work.answered.set(it, RESOLVED);
    else await restoreHolds(client, work, [step]);
  }
}

/** Reads the owners of keys into memory, for the next decision. */
export async function findClaims(
  client: PoolClient,
  asked: ReadonlyMap<AccountWork, readonly string[]>,
): Promise<void> {
  const byId = new Map(Array.from(asked.keys(), (work) => [work.account.id, work]));
  const keys = Array.from(asked, ([work, list]) =>
    list.map((key) => ({ accountId: work.account.id, key })),
  ).flat();
  if (keys.length === 0) return;
  for (const { accountId, key } of keys) byId.get(accountId)?.cached.claims.set(key, null);
  for (const row of await readClaims(client, keys)) byId.get(row.accountId)?.cached.claims.set(row.key, row);
}

/** The next replay applies places behind the account's latest step in memory. */
async function restoreHolds(client: PoolClient, work: AccountWork, places: readonly Step[]): Promise<void> {
  const { account } = work;
  const forgotten = places.filter(({ id, seq }) => seq <= account.seq && findHold(account, id) === undefined);
  for (const near of nearPlaces(forgotten)) {
    for (const steps of (await readHoldSteps(client, near, account.seq)).values()) {
      const hold = replayHold(steps);
      if (hold !== undefined && hold.state !== "open") account.ended.set(hold.id, hold);
    }
  }
}

/** Steps of an account between places that are read together. A read of an old hold so never runs up to a young one. */
const NEAR = 1_000;

function nearPlaces(places: readonly Step[]): Step[][] {
  const groups: Step[][] = [];
  for (const place of places.toSorted((one, other) => one.seq - other.seq)) {
    const last = groups.at(-1);
    const [first] = last ?? [];
    if (last === undefined || first === undefined || place.seq - first.seq > NEAR) groups.push([place]);
    else last.push(place);
  }
  return groups;
}

function repeatOutcome({ accountId, credits, note }: CreditChange, step: Step): Outcome {
  const known = step.detail !== null && "note" in step.detail ? step.detail.note : undefined;
  const isSame = step.accountId === accountId && step.credits === credits && known === note;
  return isSame ? DONE : RESOLVED;
}
