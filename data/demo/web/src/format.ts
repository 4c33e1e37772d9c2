import type { ParcelStatus } from "./generated/api_types";

const LABELS: Record<ParcelStatus, string> = {
  announced: "Announced by the sender",
  collected: "Collected",
  at_depot: "At the depot",
  in_transit: "On its way",
  out_for_delivery: "With the driver",
  delivered: "Delivered",
  returned: "Sent back",
};

export function statusLabel(status: ParcelStatus): string {
  return LABELS[status];
}

/** "today", "tomorrow" or the weekday: dates are hard to read on a phone. */
export function relativeDay(day: Date, today: Date): string {
  const days = Math.round((startOfDay(day) - startOfDay(today)) / 86_400_000);
  if (days === 0) return "today";
  if (days === 1) return "tomorrow";
  return day.toLocaleDateString("en-GB", { weekday: "long" });
}

function startOfDay(moment: Date): number {
  return new Date(moment.getFullYear(), moment.getMonth(), moment.getDate()).getTime();
}
