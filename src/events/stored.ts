import type { Audience } from './audience.ts';
/** One event as it stands in the log. */
export interface StoredEvent {
  /** Rises within the realm in the order of commits. */
  readonly id: number;
  readonly type: string;
  readonly op: string | null;
  readonly payload: unknown;
  readonly audience: Audience;
  /** Ids taken: `id - width + 1` to `id`. */
  readonly width: number;
  readonly ephemeral: boolean;
  readonly createdAt: Date;
  /** About the payload's size, for bounds. */
  readonly bytes: number;
}
