// Later parts load after the first view of their page: once the browser has time, and at the latest when the page shows them.
import { type ComponentType, lazy, type ReactNode, Suspense, useState } from "react";

/** @param waiting shown until the part is loaded, in its size */
export function later<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  waiting: ReactNode = null,
): ComponentType<Props> {
  // Not every browser reports its free time.
  window.requestIdleCallback?.(() => void load());
  const Part: ComponentType<Props> = lazy(async () => ({ default: await load() }));
  return (props) => (
    <Suspense fallback={waiting}>
      <Part {...props} />
    </Suspense>
  );
}

/** Returns true once the condition has been true, so that a part remains while it closes. */
export function useHasBeen(isNow: boolean): boolean {
  const [hasBeen, setBeen] = useState(isNow);
  if (isNow && !hasBeen) setBeen(true);
  return hasBeen || isNow;
}
