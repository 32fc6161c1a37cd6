// UpstreamGate pauses an upstream while any of its holders needs the pause: a slow client, a hold that is used up.
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

  /** Returns a handle for one holder, with its own pause and resume. */
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
