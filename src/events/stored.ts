import type { Audience } from './audience.ts';
/** One event of an organization's event log. */
export interface StoredEvent {
  /** Id of the event. Ids ascend within an organization, in the order of commits. */
  readonly id: number;
  readonly type: string;
  readonly op: string | null;
  readonly payload: unknown;
  readonly audience: Audience;
  /** Number of ids that the event takes: `id - width + 1` to `id`. */
  readonly width: number;
  readonly ephemeral: boolean;
  readonly createdAt: Date;
  /**
   * User who made the change. Null if the service, the server's operator or a client that was not signed in made it. Also null
   * for new messages, and for events that an earlier version logged.
   */
  readonly actorId: number | null;
  /** Approximate bytes of the payload's JSON, for memory limits. */
  readonly bytes: number;
}
