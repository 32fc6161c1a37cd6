// What a mutant is: one place of production code that is made wrong, and who promises to notice.

/** The invariants break within so many histories. */
interface InHistories {
  readonly histories: number;
}

/** A test file fails. */
interface ByTest {
  readonly test: string;
  /** The test in it, when one is enough. */
  readonly name?: string;
}

export interface Mutant {
  readonly file: string;
  /** Occurs in the file exactly once. */
  readonly find: string;
  readonly replace: string;
  /** What is wrong then. */
  readonly what: string;
  readonly caught: InHistories | ByTest;
}
