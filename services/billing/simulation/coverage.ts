// What happened in a run. A simulation that never meets a case proves nothing about it, so the test wants each of
// these to be above zero.

export class Coverage {
  histories = 0;
  events = 0;

  readonly counts = {
    "requests sent": 0,
    "answered, charged": 0,
    "answered from an earlier request": 0,
    "clients that left": 0,
    "charged although the client had left": 0,
    "crashes of a gateway": 0,
    "crashes of a router": 0,
    "crashes of billing": 0,
    "pauses of a router": 0,
    "PostgreSQL away": 0,
    "commits whose reply was lost": 0,
    "clock of PostgreSQL set back": 0,
    "calls lost": 0,
    "calls delivered twice": 0,
    "calls that timed out": 0,
    "Redis emptied": 0,
    "Redis rolled back": 0,
    "Redis did not answer": 0,
    "refused: balance": 0,
    "refused: balance, in flight": 0,
    "refused: cap": 0,
    "refused: cap, in flight": 0,
    "refused: disabled or deleted": 0,
    "refused: expired": 0,
    "refused: free limit": 0,
    "refused by the gateway": 0,
    "refused from the mirror": 0,
    "refusals that came too late for the mirror": 0,
    "claims: in progress": 0,
    "claims: finished": 0,
    "claims: mismatch": 0,
    "claims: free again": 0,
    "claims: over after a day": 0,
    "kept answers that were over": 0,
    "days slept": 0,
    "came back a day later": 0,
    "holds placed": 0,
    "places repeated": 0,
    "holds extended": 0,
    "extensions repeated": 0,
    "extensions refused": 0,
    "extensions that came too late": 0,
    "extensions in a window that had ended": 0,
    "captures repeated": 0,
    "captures after a release": 0,
    "charges above the hold": 0,
    "charges of nothing": 0,
    "windows begun": 0,
    "charges in a window that had ended": 0,
    "costs booked as failed": 0,
    "costs booked as late": 0,
    "upstream: packets later than the grace": 0,
    "upstream: packets twice": 0,
    "upstream: replies twice": 0,
    "upstream: failed and billed": 0,
    "upstream: failed and not billed": 0,
    "upstream: usage missing": 0,
    "upstream: look-ups silent": 0,
    "upstream: jobs queued": 0,
    "upstream: jobs cancelled": 0,
    "bills that came too late for the books": 0,
    "outcomes unknown to the client": 0,
    "answers that came too late": 0,
    "resolver: cost found": 0,
    "resolver: not found, once": 0,
    "resolver: given up": 0,
    "resolver: kept answer captured": 0,
    "resolver: hold without a row": 0,
    "resolver: settled from a row": 0,
    "resolver: job resumed": 0,
    "resolver: resumed job ended": 0,
    "resolver: ephemeral job ended": 0,
    "rows that had passed to another": 0,
    deposits: 0,
    "deposits repeated": 0,
    refunds: 0,
    adjustments: 0,
    "caps changed": 0,
    "periods changed": 0,
    "keys disabled or deleted": 0,
  };

  add({ histories, events, counts }: Pick<Coverage, "histories" | "events" | "counts">): void {
    this.histories += histories;
    this.events += events;
    for (const name of Object.keys(counts) as Covered[]) this.counts[name] += counts[name];
  }

  /** Names of what never happened. */
  missing(): string[] {
    return Object.entries(this.counts).flatMap(([name, count]) => (count === 0 ? [name] : []));
  }
}

export type Covered = keyof Coverage["counts"];
