// What a history throws when money went wrong.

export class Violation extends Error {
  /** Name of the invariant. */
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(message);
    this.invariant = invariant;
  }
}
