// What a mutant is: one place of production code that is made wrong, and who promises to notice.

/** The invariants break within so many histories, from seed 0 on. */
interface InHistories {
  readonly histories: number;
  /** One of those that notice, when it is far from the first: it is played before all others. */
  readonly seed?: number;
}

/** A test file fails. */
export interface ByTest {
  readonly test: string;
  /** The test in it, when one is enough. */
  readonly name?: string | undefined;
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
