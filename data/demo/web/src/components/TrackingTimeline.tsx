import type { Parcel, TimelineStep } from "../generated/api_types";
import { statusLabel } from "../format";

interface Props {
  parcel: Parcel;
  /** Oldest first for support, newest first for customers. */
  newestFirst?: boolean;
}

export function TrackingTimeline({ parcel, newestFirst = true }: Props) {
  const steps = newestFirst ? [...parcel.steps].reverse() : parcel.steps;
  return (
    <section aria-label={`Timeline of ${parcel.parcel}`}>
      <h2>{statusLabel(parcel.status)}</h2>
      <ol>
        {steps.map((step) => (
          <TimelineRow key={`${step.status}-${step.at}`} step={step} />
        ))}
      </ol>
    </section>
  );
}

function TimelineRow({ step }: { step: TimelineStep }) {
  return (
    <li>
      <time dateTime={step.at}>{new Date(step.at).toLocaleString("en-GB")}</time>
      <span>{statusLabel(step.status)}</span>
      {step.where && <small>{step.where}</small>}
    </li>
  );
}
