// Database owns the simulated PostgreSQL of billing, which all processes share: its tables, and the reports of its commits.
import type { World } from "../world/world.ts";
import { FollowerTables } from "./follower-tables.ts";
import type { StatementJournal } from "./statement-journal.ts";
import { StepTables, type TableStep } from "./step-tables.ts";
import type { Batch } from "./writer-watch.ts";

/** Learns of each commit of steps, and of each read that a writer relies on. */
export interface CommitAudit {
  /** @param batch that the writer had at work. @throws Violation */
  stored(batch: Batch, steps: readonly TableStep[]): void;
  /** The writer has the latest steps of this account. @throws Violation */
  confirmed(batch: Batch, accountId: string): void;
}

export class Database {
  readonly world: World;
  readonly steps = new StepTables();
  readonly followers = new FollowerTables(this.steps);
  readonly journal: StatementJournal | undefined;
  readonly audit: CommitAudit;
  readonly locks = new Map<string, { readonly isInTransaction: boolean }>();

  constructor(world: World, audit: CommitAudit, journal: StatementJournal | undefined) {
    this.world = world;
    this.audit = audit;
    this.journal = journal;
  }
}
