// What the billing module reads from the environment.
import { postgresConfig } from "@gr/runtime";

export const billingConfig = postgresConfig;
