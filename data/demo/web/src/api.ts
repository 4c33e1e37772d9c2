import type { ApiError, Parcel } from "./generated/api_types";

/** Thrown when the service answers, but not with a parcel. */
export class TrackingError extends Error {
  constructor(
    message: string,
    readonly status: number,
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

const PARCEL_NUMBER = /^PX\d{9}$/;

export function isParcelNumber(text: string): boolean {
  return PARCEL_NUMBER.test(text.trim().toUpperCase());
}

/** Fetches the timeline of a parcel. A caller above the rate limit learns how long to wait. */
export async function fetchParcel(number: string, signal?: AbortSignal): Promise<Parcel> {
  const response = await fetch(`/api/parcels/${encodeURIComponent(number)}`, { signal });
  if (response.ok) {
    return (await response.json()) as Parcel;
  }
  const body = (await response.json().catch(() => ({ error: response.statusText }))) as ApiError;
  const retryAfter = Number(response.headers.get("Retry-After")) || undefined;
  throw new TrackingError(body.error, response.status, retryAfter);
}
