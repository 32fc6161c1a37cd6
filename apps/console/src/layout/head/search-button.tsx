// The search button opens the search, as its keys do. The code of the search loads then.
import { UnstyledButton } from "@mantine/core";
import { useHotkeys } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { lazy, Suspense, useState } from "react";

const load = () => import("./search.tsx");
const Search = lazy(async () => ({ default: (await load()).Search }));
const NAME = "Search or paste an ID";
const KEYS = /mac|iphone|ipad/i.test(navigator.userAgent) ? "⌘K" : "Ctrl K";

export function SearchButton() {
  const [isOpen, setOpen] = useState(false);
  const [isWanted, setWanted] = useState(false);
  const change = (next: boolean) => {
    setWanted(true);
    setOpen(next);
  };
  // Also while a field has the focus.
  useHotkeys([["mod+K", () => change(!isOpen)]], []);
  return (
    <>
      <UnstyledButton
        className="search-button"
        aria-haspopup="dialog"
        aria-keyshortcuts="Meta+K Control+K"
        visibleFrom="sm"
        onPointerEnter={() => void load()}
        onClick={() => change(true)}
      >
        <IconSearch size={16} aria-hidden="true" />
        <span>{NAME}</span>
        <kbd>{KEYS}</kbd>
      </UnstyledButton>
      {isWanted && (
        <Suspense fallback={null}>
          <Search isOpen={isOpen} close={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
