// Places for media in memory: a fixed number, one per generation, released at its end.
import { expect, test } from "@jest/globals";
import { MemoryPlaces } from "./memory-places.ts";

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("work without media needs no place, and work with media has one however often it asks", async () => {
  const places = new MemoryPlaces(1);
  const done = Promise.withResolvers<void>();
  const first = places.during("account", async () => {
    await Promise.all([places.acquire(), places.acquire()]);
    await done.promise;
  });
  await places.during("account", async () => undefined);
  let second = "waits";
  const waiting = places.during("account", async () => {
    await places.acquire();
    second = "has a place";
  });
  await settled();
  expect(second).toBe("waits");
  done.resolve();
  await Promise.all([first, waiting]);
  expect(second).toBe("has a place");
});

test("who gives up before its turn costs nobody a place, nor does who fails with one", async () => {
  const places = new MemoryPlaces(1);
  const done = Promise.withResolvers<void>();
  const first = places.during("account", async () => {
    await places.acquire();
    await done.promise;
    throw new Error("it fails");
  });
  const leave = new AbortController();
  const second = places.during("account", () => places.acquire(leave.signal));
  leave.abort(new Error("too late"));
  await expect(second).rejects.toThrow("too late");
  done.resolve();
  await expect(first).rejects.toThrow("it fails");
  await places.during("account", () => places.acquire());
});

test("what is large takes several places, and nobody who came later goes before it", async () => {
  const places = new MemoryPlaces(4);
  const [first, large] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const began: string[] = [];
  const work = (name: string, wanted: number, done: Promise<void>) =>
    places.during(name, async () => {
      await places.acquire(undefined, wanted);
      began.push(name);
      await done;
    });
  const all = [
    work("first", 2, first.promise),
    work("large", 3, large.promise),
    work("small", 1, Promise.resolve()),
  ];
  await settled();
  expect(began).toEqual(["first"]);
  first.resolve();
  await settled();
  expect(began).toEqual(["first", "large", "small"]);
  large.resolve();
  await Promise.all(all);
  await work("larger than all", 9, Promise.resolve());
  await Promise.all([1, 2, 3, 4].map((name) => work(String(name), 1, Promise.resolve())));
});

test("an account whose clients do not read leaves places to others, and waits for itself", async () => {
  const places = new MemoryPlaces(4);
  const read = Promise.withResolvers<void>();
  const began: string[] = [];
  const work = (owner: string, end: Promise<void>) =>
    places.during(owner, async () => {
      await places.acquire();
      began.push(owner);
      await end;
    });
  const unread = Array.from({ length: 6 }, () => work("attacker", read.promise));
  await settled();
  await work("victim", Promise.resolve());
  expect(began).toEqual(["attacker", "attacker", "attacker", "victim"]);
  read.resolve();
  await Promise.all(unread);
  expect(began).toHaveLength(7);
});

test("outside of any work there is nothing to wait for", async () => {
  await new MemoryPlaces(0).acquire();
});
