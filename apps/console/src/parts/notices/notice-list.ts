// The list of notices with its styles.
import "@mantine/core/styles/Notification.css";
import "@mantine/notifications/styles.css";

export { Notifications, notifications } from "@mantine/notifications";
