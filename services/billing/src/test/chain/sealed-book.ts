// Sealed book owns one account with every kind of step, with or without a sealed month before. Its holds, windows, claims and leases
// span the seal.
import { randomUUID } from "node:crypto";
import { bucketOf } from "../../chain/bucket.ts";
import { sealUntil } from "../../seals/seal-months.ts";
import { listSeals } from "../../seals/seal-store.ts";
import { followersOn } from "./chain-reads.ts";
import {
  budget,
  type ChainRig,
  type ChainWallet,
  type ChainWriterUnderTest,
  capture,
  claimOf,
  keep,
  newWallet,
  opening,
  place,
  release,
} from "./chain-rig.ts";

export const JANUARY_ENDS = Date.UTC(2026, 1, 1);
const HOUR = 3_600_000;
const LATER = JANUARY_ENDS + 40 * HOUR;
const NEVER = new AbortController().signal;

export interface Book {
  readonly wallet: ChainWallet;
  /** Number of the latest sealed step; 0 = no month is sealed. */
  readonly sealedSeq: number;
  /** Holds of the sealed month. Empty without one. */
  readonly spanning: SpanningHolds | undefined;
}

interface SpanningHolds {
  /** Was open at the seal, with a lease; it is captured after it. */
  readonly captured: string;
  /** Was open at the seal, with a claim of the last day and a kept answer, and is open now. */
  readonly open: string;
  /** Was captured before the seal, with a claim of the last day; its provider reports a late cost after it. */
  readonly ended: string;
}

/** Opens the account in this month and writes the book; 3 steps are before the first hold. */
export async function writeBook(rig: ChainRig): Promise<Book> {
  const wallet = newWallet();
  const writer = await rig.writer();
  await writer.post(...opening(wallet, 1_000n, { limit: 500n, period: "day" }));
  await writeMonth(rig, writer, wallet);
  return { wallet, sealedSeq: 0, spanning: undefined };
}

/** Writes January, seals it, and writes the book on the first of February. */
export async function writeSealedBook(rig: ChainRig): Promise<Book> {
  const { clock, pool } = rig;
  const wallet = newWallet();
  const writer = await rig.writer();
  const [captured, open, ended] = [
    place(wallet, 10n, { claim: claimOf("spans"), deadlineAt: clock.now() + HOUR }),
    place(wallet, 6n, { claim: claimOf("last day, open"), deadlineAt: LATER }),
    place(wallet, 5n, { claim: claimOf("last day, charged"), deadlineAt: LATER }),
  ];
  await writer.post(...opening(wallet, 2_000n, { limit: 900n, period: "month" }), captured);
  await writer.post(budget(wallet, { limit: 500n, period: "day", revision: 2n }), place(wallet, 3n));
  clock.set(JANUARY_ENDS - 2 * HOUR);
  await writer.post({ kind: "lease", accountId: wallet.accountId, holdId: captured.holdId, until: LATER });
  await writer.post(open, ended, capture(wallet, ended.holdId, 4n), keep(wallet, open.holdId, 2n));
  await followersOn(pool).catchUp();
  clock.set(JANUARY_ENDS + HOUR / 2);
  await sealUntil(pool, JANUARY_ENDS, NEVER);
  const { accountId } = wallet;
  const [seal] = await listSeals(pool, { accountId, bucket: bucketOf(accountId) }, 0n);
  const spanning = { captured: captured.holdId, open: open.holdId, ended: ended.holdId };
  await writer.post(place(wallet, 0n), { kind: "open", accountId: newWallet().accountId });
  await writeMonth(rig, writer, wallet);
  await writer.post(capture(wallet, spanning.captured, 7n), capture(wallet, spanning.ended, 4n, 50n));
  await followersOn(pool).catchUp();
  return { wallet, sealedSeq: Number(seal?.lastSeq), spanning };
}

async function writeMonth(rig: ChainRig, writer: ChainWriterUnderTest, wallet: ChainWallet): Promise<void> {
  const { accountId } = wallet;
  const [charged, freed, kept, open] = [
    place(wallet, 10n, { claim: claimOf("a"), deadlineAt: LATER }),
    place(wallet, 10n, { claim: claimOf("b"), deadlineAt: LATER }),
    place(wallet, 10n, { claim: claimOf("c"), deadlineAt: LATER }),
    place(wallet, 10n, { deadlineAt: LATER }),
  ];
  await writer.post(charged, capture(wallet, charged.holdId, 7n), freed, release(wallet, freed.holdId, 3n));
  await writer.post(
    kept,
    keep(wallet, kept.holdId, 8n),
    open,
    budget(wallet, { limit: 400n, period: "day", revision: 3n }),
  );
  for (let count = 0; count < 34; count += 1) {
    const more = Array.from({ length: 15 }, () => place(wallet, 1n, { deadlineAt: LATER }));
    await writer.post(...more, ...more.map(({ holdId }) => release(wallet, holdId)));
  }
  // The state is stored before this flush.
  await writer.post({ kind: "adjustment", accountId, id: randomUUID(), credits: -1n });
  await followersOn(rig.pool).catchUp();
}
