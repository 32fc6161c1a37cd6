// Holds an upstream back for as long as anybody wants it to wait: a client that is slow, a hold that is used up.
interface Source {
  pause(): void;
  resume(): void;
}

export class UpstreamGate {
  readonly #source: Source;
  readonly #closedBy = new Set<Source>();

  constructor(source: Source) {
    this.#source = source;
  }

  /** A handle for one who may want it to wait. */
  handle(): Source {
    const handle: Source = {
      pause: () => {
        this.#closedBy.add(handle);
        this.#source.pause();
      },
      resume: () => {
        this.#closedBy.delete(handle);
        if (this.#closedBy.size === 0) this.#source.resume();
      },
    };
    return handle;
  }
}
