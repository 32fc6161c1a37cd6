// A proxy before the real billing service, for a process under test. Every operation passes through it, and a test
// can act at the exact moment before billing receives an operation, or after it has committed it.
import { BillingService, type Operation } from "@gr/proto/billing";
import { defineModule, implement, type Module, type ServiceClient } from "@gr/runtime";
import { z } from "zod";

export type Passing = "place" | "capture" | "release" | "extend" | "keep" | "nextAttempt";
type Hook = (passing: Passing) => Promise<void>;

export class BillingDoor {
  /** Runs before billing receives it; the client gets only its rejection. */
  before: Hook = async () => undefined;
  /** Runs after the commit and before the answer. */
  after: Hook = async () => undefined;
  readonly #billing: ServiceClient<typeof BillingService>;

  constructor(billing: ServiceClient<typeof BillingService>) {
    this.#billing = billing;
  }

  open(): void {
    this.before = async () => undefined;
    this.after = async () => undefined;
  }

  readonly module: Module = defineModule({
    name: "billing",
    needs: [],
    config: z.object({}),
    create: async () => ({ rpc: [this.#service()] }),
  });

  async #pass<Answer>(passing: readonly Passing[], call: () => Promise<Answer>): Promise<Answer> {
    for (const one of passing) await this.before(one);
    const answer = await call();
    for (const one of passing) await this.after(one);
    return answer;
  }

  #service() {
    const billing = this.#billing;
    const unused = async (): Promise<never> => {
      throw new Error("a service that spends has no business calling this");
    };
    return implement(BillingService, {
      post: ({ operations }) => this.#pass(operations.map(nameOf), () => billing.post({ operations })),
      keepAnswer: (request) => this.#pass(["keep"], () => billing.keepAnswer(request)),
      judgeClaim: (request) => billing.judgeClaim(request),
      checkSpender: (request) => billing.checkSpender(request),
      readAnswer: (request) => billing.readAnswer(request),
      leaseExpiredHolds: (request) => billing.leaseExpiredHolds(request),
      openAccount: unused,
      setSuspended: unused,
      putSpender: unused,
      putDeposit: unused,
      putAdjustment: unused,
      getCredits: unused,
      listHolds: unused,
      verifyLedger: unused,
    });
  }
}

function nameOf({ operation }: Operation): Passing {
  if (operation.case === undefined) throw new Error("an operation without content");
  return operation.case;
}
