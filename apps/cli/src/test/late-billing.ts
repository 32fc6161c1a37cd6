// LateBilling is the real billing behind a network that delays PutSpender. Callers time out. The call is applied later,
// or its answer is lost. A caller sees the same in each case: no answer.
import type { ServiceImpl } from "@connectrpc/connect";
import { billingModule } from "@gr/billing";
import { ServiceError } from "@gr/proto";
import { BillingService } from "@gr/proto/billing";
import { implement, type Module, type RpcService } from "@gr/runtime";

/** "late": not applied before it is delivered; "unheard": applied, but the answer is lost. */
export type Fate = "answered" | "unheard" | "late";

export class LateBilling {
  /** Fate of the calls of PutSpender from now on. */
  fate: Fate = "answered";
  #late: (() => Promise<unknown>)[] = [];

  readonly module: Module = {
    ...billingModule,
    create: async (context) => {
      const instance = await billingModule.create(context);
      return { ...instance, rpc: (instance.rpc ?? []).map((service) => this.#delaying(service)) };
    },
  };

  get late(): number {
    return this.#late.length;
  }

  /** Applies one of the late calls; nobody waits for its answer any more. @param index any number. */
  async deliver(index = 0): Promise<void> {
    const [call] = this.#late.splice(index % Math.max(this.#late.length, 1), 1);
    await call?.().catch((error) => {
      if (!(error instanceof ServiceError && error.param === "spender.revision")) throw error;
    });
  }

  #delaying(service: RpcService): RpcService {
    const { desc, impl } = service;
    if (desc !== BillingService) return service;
    const billing = impl as unknown as ServiceImpl<typeof BillingService>;
    return implement(BillingService, {
      ...billing,
      putSpender: async (request, context) => {
        const apply = async () => billing.putSpender(request, context);
        if (this.fate === "answered") return apply();
        if (this.fate === "late") this.#late.push(apply);
        else await apply();
        throw new ServiceError(
          "service_unavailable",
          "The billing service did not answer; try again shortly.",
        );
      },
    });
  }
}
