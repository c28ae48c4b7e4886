import type { Audience } from './audience.ts';
/** One event in the log. */
export interface StoredEvent {
  /** Ascending within the organization, in the order of commits. */
  readonly id: number;
  readonly type: string;
  readonly op: string | null;
  readonly payload: unknown;
  readonly audience: Audience;
  /** Number of ids taken: `id - width + 1` to `id`. */
  readonly width: number;
  readonly ephemeral: boolean;
  readonly createdAt: Date;
  /** Approximate bytes of the payload's JSON, for memory limits. */
  readonly bytes: number;
}
