// The timeline of a request has sections from its arrival to its end, without sections of unknown length.
import type { RequestRecord } from "@gr/console-api";

export interface TimelinePart {
  readonly label: string;
  /** Milliseconds after the arrival. */
  readonly from: number;
  readonly to: number;
  readonly kind: "waiting" | "failed" | "made" | "ours";
}

/** @returns an empty list for a request of an old version, which has no times */
export function timelineOf(request: RequestRecord): readonly TimelinePart[] {
  const { attempts, timing, latency } = request;
  const parts: TimelinePart[] = [];
  const add = (label: string, to: number, kind: TimelinePart["kind"]) => {
    const from = parts.at(-1)?.to ?? 0;
    if (to > from) parts.push({ label, from, to, kind });
  };
  if (timing.queued !== null) add("Checked and held", timing.queued, "ours");
  for (const attempt of attempts) {
    const from = parts.at(-1)?.to ?? 0;
    const isLast = attempt === attempts.at(-1);
    const { provider } = attempt;
    if (attempt.outcome !== "delivered") add(provider, from + attempt.latency, "failed");
    else if (isLast && timing.first_byte !== null) {
      add(`${provider}, first token`, timing.first_byte, "waiting");
      // The attempt of a stream ends with its request; the moment of its begin is not recorded.
      add(`${provider}, answer`, latency ?? from + attempt.latency, "made");
    } else if (isLast && timing.made !== null) {
      add(`${provider}, making`, timing.made, "made");
    } else add(provider, from + attempt.latency, "made");
  }
  if (latency !== null)
    add(timing.stored === null ? "Ended and charged" : "Stored and charged", latency, "ours");
  return parts;
}
