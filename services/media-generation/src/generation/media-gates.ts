// MediaGates are the queues before the decoder and the network, shared fairly among accounts. Pictures that callers send
// never wait in one queue with pictures that were made: those are paid for, and must not be late for anybody's input.
import { FairGate } from "@gr/runtime";

/** Nothing that was made is refused: its provider bills it. The places in memory bound how many wait. */
const NEVER_REFUSED = { waitingPerOwner: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY };

export interface MediaGates {
  /** Pictures that callers send, by pixels. */
  readonly inputs: FairGate;
  /** Pictures that callers name by URL. */
  readonly downloads: FairGate;
  /** Pictures that were made, their thumbnails, and the drawing of posters, by pixels. */
  readonly results: FairGate;
  readonly posters: FairGate;
}

/** Three pictures are decoded at a time, so that one of Node's four worker threads is left for files and names. */
export function createMediaGates(): MediaGates {
  return {
    inputs: new FairGate({
      places: 1,
      perOwner: 1,
      waitingPerOwner: 256,
      waiting: 4_096,
      name: "input pictures",
    }),
    downloads: new FairGate({
      places: 16,
      perOwner: 4,
      waitingPerOwner: 128,
      waiting: 2_048,
      name: "picture downloads",
    }),
    results: new FairGate({ places: 2, perOwner: 2, ...NEVER_REFUSED, name: "finished pictures" }),
    posters: new FairGate({ places: 4, perOwner: 3, ...NEVER_REFUSED, name: "posters" }),
  };
}
