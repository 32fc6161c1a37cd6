// MediaGates are the queues for the decoder and the network, shared fairly among accounts. Clients' pictures and
// generated pictures never share a queue: generated ones are paid for, and no client's input may delay them.
import { FairGate } from "@gr/runtime";

/** No generated file is refused: its provider bills it. The places in memory limit the length of this queue. */
const NEVER_REFUSED = { waitingPerOwner: Number.POSITIVE_INFINITY, waiting: Number.POSITIVE_INFINITY };

export interface MediaGates {
  /** Pictures that clients send, by pixels. */
  readonly inputs: FairGate;
  /** Pictures that clients name by URL. */
  readonly downloads: FairGate;
  /** Generated pictures, their thumbnails, and posters, by pixels. */
  readonly results: FairGate;
  readonly posters: FairGate;
}

/** At most three pictures are decoded at once. One of Node's four worker threads stays free for files and names. */
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
