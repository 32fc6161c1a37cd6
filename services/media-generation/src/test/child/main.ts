// Media generation and its edge as a process of their own, to be killed by tests. Billing and the catalogue are remote.
import { run } from "@gr/runtime";
import { mediaGenerationModule } from "../../index.ts";
import { edgeModule } from "../edge.ts";

await run([mediaGenerationModule, edgeModule]);
