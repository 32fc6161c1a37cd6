// FilmQueue is a provider of videos with a queue. A test decides when its jobs end, and how.
import type { MediaProvider, Progress } from "../providers/provider.ts";
import { ProviderError, type ProviderFailure } from "../providers/provider-error.ts";
import { mp4Of } from "./videos.ts";

export class FilmQueue {
  submissions = 0;
  cancelled = 0;
  done = false;
  /** The provider does not cancel. */
  isStubborn = false;
  /** Ends jobs at the next poll. */
  failure: ProviderFailure | undefined;
  /** Progress in a poll's answer. */
  percent: number | undefined;
  /** Delays the answer to a submission. */
  beforeAnswer: Promise<void> | undefined;
  /** Answer to a submission; absent: the job waits in the queue. */
  atOnce: (() => Promise<Progress>) | undefined;
  /** Number of pictures of each submission. */
  readonly inputs: number[] = [];

  readonly provider: MediaProvider = {
    name: "queue",
    kinds: {
      video: {
        mostAtOnce: 1,
        submit: async ({ inputs }) => {
          this.submissions += 1;
          this.inputs.push(inputs.length);
          await this.beforeAnswer;
          return this.atOnce?.() ?? this.#pending();
        },
      },
    },
    poll: async () => {
      if (this.done) return film();
      if (this.failure !== undefined)
        throw new ProviderError(this.failure, "queue: ended", { accepted: true });
      if (this.cancelled === 0 || this.isStubborn) return this.#pending();
      throw new ProviderError("failed", "queue: cancelled", { accepted: true });
    },
    cancel: async () => {
      this.cancelled += 1;
    },
  };

  #pending(): Progress {
    return { state: "pending", operation: { job: "1" }, pollAfterMs: 10, percent: this.percent };
  }
}

export const film = (): Progress => ({
  state: "succeeded",
  artifacts: [{ stream: [mp4Of()], type: "video/mp4" }],
});
