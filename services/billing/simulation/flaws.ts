// The ways in which the protocol can be broken on purpose, one at a time. The code that each of them changes asks for
// it by name. `seeds` is the promise of the test: that many histories, from seed 0 on, are enough to find it out.

export const FLAWS = {
  "cap checked, then acted upon": {
    what: "a place is checked when it arrives and committed later, without a second look",
    seeds: 1_000,
  },
  "dispatch before the hold": { what: "the upstream is called while the hold is being placed", seeds: 50 },
  "place repeated reserves again": { what: "a place has no identity of its own", seeds: 500 },
  "extension repeated reserves again": {
    what: "an extension adds to a hold instead of setting it",
    seeds: 500,
  },
  "extension without a look at the money": { what: "an extension is never refused for money", seeds: 500 },
  "extension outlives its hold": { what: "a hold frees what was placed, not what was added", seeds: 500 },
  "capture repeated charges again": { what: "a capture does not compare the state it sets", seeds: 200 },
  "capture refused for lack of balance": { what: "a charge above the balance is not posted", seeds: 500 },
  "holds carried into the next window": { what: "`held` is one number per key, not per window", seeds: 200 },
  "charge in the current window": {
    what: "a charge counts when it comes, not where its hold was",
    seeds: 200,
  },
  "window start moves back": { what: "a lagging clock reopens an earlier window", seeds: 3_000 },
  "late cost charged to the customer": { what: "a capture after a release still charges", seeds: 1_000 },
  "resolver charges what it finds": { what: "a look-up captures instead of booking a loss", seeds: 200 },
  "revoked key checked in the gateway only": { what: "the ledger does not look at the spender", seeds: 500 },
  "deposit repeated counts twice": { what: "a deposit has no identity of its own", seeds: 200 },
  "refusal mirrored without epoch": {
    what: "a refusal decided before a deposit is kept after it",
    seeds: 20_000,
  },
  "refusal mirrored for too long": { what: "a mirrored refusal does not expire", seeds: 2_000 },
  "mirror counts by increments": {
    what: "the mirror adds up what it hears, also after a loss",
    seeds: 1_000,
  },
  "mirror admits alone": { what: "a place that fits the mirror is not asked of the ledger", seeds: 500 },
  "answer before the capture": {
    what: "the client has its answer while the capture is under way",
    seeds: 200,
  },
  "capture that came too late is an answer": {
    what: "a hold resolved otherwise counts as charged",
    seeds: 1_000,
  },
  "capture not repeated": { what: "one lost reply of billing, and the result is given away", seeds: 500 },
  "claim taken over while its hold is open": { what: "a repeated request runs beside the first", seeds: 500 },
  "claim ends too early": { what: "a key may run again some seconds before its day has ended", seeds: 500 },
  "claim ends while its hold is open": {
    what: "a claim is forgotten after a day although nobody knows what became of its request",
    seeds: 15_000,
  },
  "claim outlives its day": { what: "a key is still taken some seconds after its day", seeds: 500 },
  "answer kept after the capture": {
    what: "a crash between the two leaves a charge without an answer",
    seeds: 500,
  },
  "answer kept under a lease": {
    what: "an answer is kept while somebody resolves its hold as one without an answer",
    seeds: 20_000,
  },
  "kept answer not captured": { what: "the resolver looks up a hold whose answer was kept", seeds: 2_000 },
  "replay without looking at the spender": { what: "a deleted key still gets answers", seeds: 3_000 },
  "blind release": { what: "the resolver releases what is past its deadline", seeds: 200 },
  "one look-up only": { what: "the resolver releases what it did not find once", seeds: 4_000 },
  "release on a lost answer": { what: "a timeout counts as a failure", seeds: 200 },
  "failed cost dropped": { what: "a failure is released without what the upstream billed", seeds: 200 },
  "client who leaves is released": {
    what: "nobody reads the upstream to its end for a client that left",
    seeds: 200,
  },
  "missing usage is zero": {
    what: "an answer without usage is charged nothing, its bill dropped",
    seeds: 200,
  },
  "zero usage is estimated": { what: "an explicit zero is charged as metered", seeds: 500 },
  "row after the call": { what: "the provider is called before its generation has a row", seeds: 200 },
  "row ended by anybody": { what: "a row is ended without comparing who owns it", seeds: 4_000 },
  "job goes on out of time": {
    what: "a queued job is followed although its client was told that it failed",
    seeds: 2_000,
  },
  "row that had passed is a failure": {
    what: "a process that stood still says that nothing is charged, whoever has the row by then",
    seeds: 3_000,
  },
  "ephemeral job charged after its process": {
    what: "what can be handed over by nobody any more is charged",
    seeds: 2_000,
  },
  "given up before the deadline": {
    what: "a row is given up while the provider may still book",
    seeds: 1_000,
  },
} as const;

export type Flaw = keyof typeof FLAWS;
