// Notices are short messages at the edge of the page. The code of their list loads with the first one.
import type { NotificationData } from "@mantine/notifications";
import { lazy, Suspense, useEffect, useState } from "react";

const SHOWN = "generation-router:notice";
const load = () => import("./notice-list.ts");
const List = lazy(async () => ({ default: (await load()).Notifications }));

export function showNotice(notice: NotificationData): void {
  window.dispatchEvent(new CustomEvent(SHOWN, { detail: notice }));
}

/** The list of all notices, once in the application. */
export function Notices() {
  const [isWanted, setWanted] = useState(false);
  useEffect(() => {
    const show = async (event: Event) => {
      setWanted(true);
      const { notifications } = await load();
      notifications.show((event as CustomEvent<NotificationData>).detail);
    };
    const listen = (event: Event) => void show(event);
    window.addEventListener(SHOWN, listen);
    return () => window.removeEventListener(SHOWN, listen);
  }, []);
  if (!isWanted) return null;
  return (
    <Suspense fallback={null}>
      <List />
    </Suspense>
  );
}
