// Guarantees of reading ISO 8601: every way to write an instant is read as that instant, and no other text is one.
import { describe, expect, test } from "@jest/globals";
import { readIsoInstant } from "./expiry.ts";

const DAY_MS = 86_400_000;

describe("31 January 2027, 18:00 UTC", () => {
  test.each([
    "2027-01-31T18:00:00Z",
    "2027-01-31T18:00:00.000Z",
    "2027-01-31T18:00Z",
    "2027-01-31T18Z",
    "2027-01-31t18:00:00z",
    "2027-01-31T18:00:00+00:00",
    "2027-01-31T18:00:00-00:00",
    "2027-01-31T18:00:00+00",
    "2027-01-31T20:00:00+02",
    "2027-01-31T20:00:00+0200",
    "2027-01-31T12:15:00-05:45",
    "2027-02-01T08:00:00+14:00",
    "20270131T180000Z",
    "20270131T1800Z",
    "20270131T18Z",
    "20270131T200000+0200",
    "20270131T200000+02:00",
    "2027-031T18:00:00Z",
    "2027031T180000Z",
    "2027-W04-7T18:00:00Z",
    "2027W047T180000Z",
  ])("is what %s says", (text) => {
    expect(readIsoInstant(text)).toBe(Date.UTC(2027, 0, 31, 18));
  });
});

test.each([
  ["2027-01-31T18:00:00.5Z", Date.UTC(2027, 0, 31, 18, 0, 0, 500)],
  ["2027-01-31T18:00:00,5Z", Date.UTC(2027, 0, 31, 18, 0, 0, 500)],
  ["2027-01-31T18:00:00.1239999999999999Z", Date.UTC(2027, 0, 31, 18, 0, 0, 123)],
  ["2027-01-31T18:00:59.999999999Z", Date.UTC(2027, 0, 31, 18, 0, 59, 999)],
  ["2027-01-31T24:00:00Z", Date.UTC(2027, 1, 1)],
  ["2027-12-31T24:00Z", Date.UTC(2028, 0, 1)],
  ["2028-02-29T00:00:00Z", Date.UTC(2028, 1, 29)],
  ["2028-366T00:00Z", Date.UTC(2028, 11, 31)],
  ["2026-W53-5T00:00Z", Date.UTC(2027, 0, 1)],
  ["2026-12-31", Date.UTC(2026, 11, 31)],
  ["20261231", Date.UTC(2026, 11, 31)],
  ["2026-365", Date.UTC(2026, 11, 31)],
  ["2026365", Date.UTC(2026, 11, 31)],
  ["2026-W53-4", Date.UTC(2026, 11, 31)],
  ["2027-01-31T18:00:00", Date.UTC(2027, 0, 31, 18)],
  ["2027-01-31T18:00:00.5", Date.UTC(2027, 0, 31, 18, 0, 0, 500)],
  ["20270131T1800", Date.UTC(2027, 0, 31, 18)],
])("%.40s is that instant", (text, at) => {
  expect(readIsoInstant(text)).toBe(at);
});

test.each([
  "",
  "2027",
  "2027-01",
  "2027-W04",
  "2027-01-31T",
  "2027-01-31Z",
  "2027-01-31+02:00",
  "2027-02-29",
  "2027-366",
  "2027-01-31 18:00:00Z",
  " 2027-01-31T18:00:00Z",
  "2027-01-31T18:00:00Z ",
  "2027-01-31T18:00:00Z\n",
  "2027-01-31T18:00:00Z[UTC]",
  "2027-01T18:00:00Z",
  "2027T18:00:00Z",
  "27-01-31T18:00:00Z",
  "+012027-01-31T18:00:00Z",
  "-2027-01-31T18:00:00Z",
  "2027-1-31T18:00:00Z",
  "2027-00-31T18:00:00Z",
  "2027-13-01T18:00:00Z",
  "2027-01-00T18:00:00Z",
  "2027-01-32T18:00:00Z",
  "2027-02-29T18:00:00Z",
  "2027-04-31T18:00:00Z",
  "2027-000T18:00:00Z",
  "2027-366T18:00:00Z",
  "2027-W00-1T18:00:00Z",
  "2027-W53-1T18:00:00Z",
  "2027-W54-1T18:00:00Z",
  "2027-W04-0T18:00:00Z",
  "2027-W04-8T18:00:00Z",
  "2027-W04T18:00:00Z",
  "2027-01-31TZ",
  "2027-01-31T1:00:00Z",
  "2027-01-31T18:00.5Z",
  "2027-01-31T18.25Z",
  "2027-01-31T18:60:00Z",
  "2027-01-31T23:59:60Z",
  "2027-01-31T24:00:01Z",
  "2027-01-31T24:01Z",
  "2027-01-31T24:00:00.001Z",
  "2027-01-31T25:00:00Z",
  "2027-01-31T18:00:00.Z",
  "2027-01-31T18:00:00.5.5Z",
  "2027-01-31T18:00:00+24:00",
  "2027-01-31T18:00:00+02:60",
  "2027-01-31T18:00:00+2",
  "2027-01-31T18:00:00+2:00",
  "2027-01-31T18:00:00Z+02:00",
  "2027-01-31T18:00:00UTC",
  "٢٠٢٧-01-31T18:00:00Z",
])("%j is no instant", (text) => {
  expect(readIsoInstant(text)).toBeUndefined();
});

test("the days of all weeks and of all years follow each other, and none is missing or there twice", () => {
  const [weekDays, yearDays]: [number[], number[]] = [[], []];
  const two = (value: number) => String(value).padStart(2, "0");
  for (let year = 2027; year < 2060; year += 1) {
    for (let week = 0; week <= 60; week += 1) {
      for (let day = 1; day <= 7; day += 1) {
        const at = readIsoInstant(`${year}-W${two(week)}-${day}T00Z`);
        if (at !== undefined) weekDays.push(at);
      }
    }
    for (let day = 0; day <= 370; day += 1) {
      const at = readIsoInstant(`${year}-${String(day).padStart(3, "0")}T00Z`);
      if (at !== undefined) yearDays.push(at);
    }
  }
  const from = (start: number, end: number) =>
    Array.from({ length: (end - start) / DAY_MS }, (_, index) => start + index * DAY_MS);
  // 1 January 2027 is a Friday, 1 January 2060 a Thursday.
  expect(weekDays).toEqual(from(Date.UTC(2027, 0, 4), Date.UTC(2059, 11, 29)));
  expect(yearDays).toEqual(from(Date.UTC(2027, 0, 1), Date.UTC(2060, 0, 1)));
});
