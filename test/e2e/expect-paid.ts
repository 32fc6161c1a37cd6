// The check of tests of clients: an account pays exactly the bill of the simulator.
import { chargeOf } from "@gr/money";
import { expect } from "@jest/globals";
import { remainingCredits, simulatorBill } from "./http.ts";
import type { Router } from "./topology.ts";

/** Runs `act` while no other request runs, and expects a charge of the bill of `act`, which is not zero. */
export async function expectPaid<T>(router: Router, act: () => Promise<T>): Promise<T> {
  const before = await remainingCredits(router);
  const { items } = await simulatorBill(router);
  const result = await act();
  const billed = (await simulatorBill(router)).items.slice(items.length);
  const charges = billed.reduce((sum, { picoUsd }) => sum + chargeOf(picoUsd), 0n);
  expect(charges).toBeGreaterThan(0n);
  expect(before - (await remainingCredits(router))).toBe(charges);
  return result;
}
