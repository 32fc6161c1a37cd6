// Guarantees of the choice to save prompts and answers: off unless it is set, for normal keys only, and each answer about the key
// and its verification has it.
import { KeyKind } from "@gr/proto/keys";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type KeysUnderTest, startKeys } from "../test/start-keys.ts";

let world: KeysUnderTest;
let accountId: string;
beforeAll(async () => {
  world = await startKeys();
  accountId = (await world.keys.createAccount({ name: "Acme" })).accountId;
});
afterAll(() => world?.stop());

const manager = () => ({ accountId, keyId: accountId, kind: "management" }) as const;
const post = (body: object) => world.rest("POST", "/v1/api-keys", manager(), body);
const listed = async (id: string) => {
  const { body } = await world.rest("GET", "/v1/api-keys", manager());
  return body.data.find((key: { id: string }) => key.id === id);
};
const isSaving = async (secret: string) => (await world.keys.verifyKey({ secret })).key?.savesTexts;

test.each([undefined, null, false])(
  "a key with %p saves nothing, and its record has no such field",
  async (saves_texts) => {
    const { status, body } = await post({ name: "k", saves_texts });
    expect([status, "saves_texts" in body, "saves_texts" in (await listed(body.id))]).toEqual([
      201,
      false,
      false,
    ]);
    expect(await isSaving(body.key)).toBe(false);
  },
);

test("a key that saves is listed and verified as such, until it is changed", async () => {
  const { body } = await post({ name: "k", saves_texts: true });
  expect([body.saves_texts, (await listed(body.id)).saves_texts, await isSaving(body.key)]).toEqual([
    true,
    true,
    true,
  ]);
  const keyId = body.id;
  await world.keys.updateKey({ accountId, keyId, name: "renamed" });
  expect(await isSaving(body.key)).toBe(true);
  expect((await world.keys.updateKey({ accountId, keyId, savesTexts: false })).key?.savesTexts).toBe(false);
  expect(await isSaving(body.key)).toBe(false);
  expect((await world.keys.updateKey({ accountId, keyId, savesTexts: true })).key?.savesTexts).toBe(true);
});

test.each([1, "true", {}])("%j is refused with the name of the field", async (saves_texts) => {
  const { status, body } = await post({ name: "k", saves_texts });
  expect([status, body.error.param]).toEqual([400, "saves_texts"]);
});

test("a management key saves nothing", async () => {
  const management = { accountId, name: "m", kind: KeyKind.MANAGEMENT };
  const refusal = { reason: "invalid_value", param: "saves_texts" };
  await expect(world.keys.mintKey({ ...management, savesTexts: true })).rejects.toMatchObject(refusal);
  const { key } = await world.keys.mintKey(management);
  const keyId = key?.keyId ?? "";
  await expect(world.keys.updateKey({ accountId, keyId, savesTexts: true })).rejects.toMatchObject(refusal);
});
