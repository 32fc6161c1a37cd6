import { test } from "@jest/globals";
test("later", () => undefined);
