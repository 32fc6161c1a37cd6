// Pages of an account, in the order of the menu. The menu and the search list them.
import {
  IconBell,
  IconChartBar,
  IconCreditCard,
  IconHistory,
  IconHome,
  IconKey,
  IconLayoutGrid,
  IconList,
  IconSparkles,
  IconUsers,
} from "@tabler/icons-react";

export const HOME = { to: "/accounts/$account", label: "Home", icon: IconHome, exact: true } as const;
export const GROUPS = [
  {
    title: "Build",
    pages: [
      { to: "/accounts/$account/playground", label: "Playground", icon: IconSparkles },
      { to: "/accounts/$account/models", label: "Models", icon: IconLayoutGrid },
      { to: "/accounts/$account/keys", label: "API keys", icon: IconKey },
    ],
  },
  {
    title: "Observe",
    pages: [
      { to: "/accounts/$account/logs", label: "Logs", icon: IconList },
      { to: "/accounts/$account/usage", label: "Usage", icon: IconChartBar },
      { to: "/accounts/$account/alerts", label: "Alerts", icon: IconBell },
    ],
  },
  {
    title: "Manage",
    pages: [
      { to: "/accounts/$account/credits", label: "Credits", icon: IconCreditCard },
      { to: "/accounts/$account/team", label: "Team", icon: IconUsers },
      { to: "/accounts/$account/audit", label: "Audit log", icon: IconHistory, role: "admin" },
    ],
  },
] as const;
export type AccountPage = typeof HOME | (typeof GROUPS)[number]["pages"][number];

export const ACCOUNT_PAGES: readonly AccountPage[] = [
  HOME,
  ...GROUPS.flatMap(({ pages }): readonly AccountPage[] => pages),
];
