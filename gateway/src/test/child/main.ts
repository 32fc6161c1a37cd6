// This process is a gateway in front of fake modules. It accepts one key, from its environment.
import { run } from "@gr/runtime";
import { gatewayModule } from "../../module.ts";
import { FakeKeys } from "../fake-keys.ts";
import { fakeModules, Stage } from "../fake-modules.ts";

const {
  TEST_KEY_SECRET: secret = "",
  TEST_KEY_ID: keyId = "",
  TEST_ACCOUNT_ID: accountId = "",
} = process.env;
const keys = new FakeKeys();
keys.put("normal", { secret, keyId, accountId });

await run([...fakeModules(keys, new Stage()), gatewayModule]);
