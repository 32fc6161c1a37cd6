// Filters are in the address: it decides the shown rows, and a page can be shared by its link.
import { useNavigate } from "@tanstack/react-router";

/** Puts values into the address of the page; "" and null remove them. A step is undone by Back. */
export function useFilter() {
  const navigate = useNavigate();
  return (
    values: Readonly<Record<string, string | null | undefined>>,
    { isStep = false }: { isStep?: boolean } = {},
  ) =>
    navigate({
      to: ".",
      replace: !isStep,
      resetScroll: false,
      search: (before: Record<string, string | undefined>) => {
        const all = Object.entries({ ...before, ...values });
        return Object.fromEntries(
          all.filter(([, value]) => value !== undefined && value !== null && value !== ""),
        );
      },
    });
}
