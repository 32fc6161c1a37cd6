// Filters of the log in one line: an id, the time, and chips for kind, state, model and key. All are in the address.
import { Button, Group, TextInput } from "@mantine/core";
import { IconSearch } from "@tabler/icons-react";
import { useState } from "react";
import { type Choice, ChoiceChip, TypeAheadChip } from "../../parts/filters/filter-chips.tsx";
import { TimeFilter } from "../../parts/filters/time-filter.tsx";
import { rangeMs } from "../../parts/filters/time-ranges.ts";
import { useFilter } from "../../parts/filters/use-filter.ts";
import { useKeyNames, useMemberNames, useModelNames } from "../../parts/lists/names-of.ts";

export type LogSearch = Partial<
  Record<
    | "request"
    | "view"
    | "kind"
    | "status"
    | "model"
    | "provider"
    | "key_id"
    | "member"
    | "range"
    | "from"
    | "to",
    string
  >
>;

const KINDS: readonly Choice[] = [
  { value: "text", label: "Text" },
  { value: "image", label: "Images" },
  { value: "video", label: "Videos" },
  { value: "media", label: "Images and videos" },
];
const STATUSES: readonly Choice[] = [
  { value: "succeeded", label: "Succeeded" },
  { value: "running", label: "Running" },
  { value: "failed", label: "Failed" },
  { value: "blocked", label: "Blocked" },
  { value: "cancelled", label: "Cancelled" },
];
const FILTERS = ["kind", "status", "model", "provider", "key_id", "member", "range", "from", "to"] as const;
/** An id as in the header x-request-id. */
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isFiltered(search: LogSearch): boolean {
  return FILTERS.some((name) => search[name] !== undefined);
}

export const NO_FILTERS = Object.fromEntries(FILTERS.map((name) => [name, null]));

/** Returns the times of a query now: the range of a preset moves with the clock. */
export function timesOf({ range, from, to }: LogSearch, now: number): { from?: string; to?: string } {
  const ms = rangeMs(range);
  if (ms !== undefined) return { from: new Date(now - ms).toISOString() };
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) };
}

export function LogFilters({ search }: { search: LogSearch }) {
  const filter = useFilter();
  const keys = useKeyNames();
  const models = useModelNames();
  const members = useMemberNames();
  return (
    <Group gap="xs" role="search">
      <FindById />
      <TimeFilter search={search} />
      <ChoiceChip name="kind" label="Type" value={search.kind} choices={KINDS} />
      <ChoiceChip name="status" label="Status" value={search.status} choices={STATUSES} />
      <TypeAheadChip name="model" label="Model" value={search.model} choices={models.choices} isFree />
      <TypeAheadChip name="key_id" label="Key" value={search.key_id} choices={keys.choices} />
      <TypeAheadChip
        name="provider"
        label="Provider"
        value={search.provider}
        choices={models.providers}
        isFree
      />
      <TypeAheadChip name="member" label="Member" value={search.member} choices={members} />
      {isFiltered(search) && (
        <Button variant="subtle" size="xs" color="gray" onClick={() => void filter(NO_FILTERS)}>
          Clear filters
        </Button>
      )}
    </Group>
  );
}

/** A pasted or typed id opens its request. */
function FindById() {
  const filter = useFilter();
  const [text, setText] = useState("");
  const [isWrong, setWrong] = useState(false);
  const find = (value: string) => {
    setText(value);
    // A pasted text may have words around the id.
    const id = value.split(/[^0-9a-f-]/i).find((part) => ID.test(part));
    setWrong(false);
    if (id === undefined) return false;
    setText("");
    void filter({ request: id.toLowerCase() }, { isStep: true });
    return true;
  };
  return (
    <TextInput
      aria-label="Find a request by its ID"
      placeholder="Paste a request ID"
      leftSection={<IconSearch size={16} />}
      size="xs"
      w={{ base: "100%", xs: 230 }}
      value={text}
      error={isWrong && "An ID is like 01940c1e-…, from x-request-id"}
      onChange={({ currentTarget }) => void find(currentTarget.value)}
      onKeyDown={({ key }) => {
        if (key === "Enter" && text.trim() !== "") setWrong(!find(text));
      }}
    />
  );
}
