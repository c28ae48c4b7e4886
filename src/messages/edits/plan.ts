import type { Channel } from '../../generated/prisma/client.ts';
/** What is to change, once what is as it was is left out. */
export interface RequestedEdit {
  readonly content: string | undefined;
  readonly topic: string | undefined;
  readonly channelId: number | undefined;
}

/** A move of messages that may be made. */
export interface MessageMove {
  readonly from: Channel;
  readonly to: Channel;
  readonly oldTopic: string;
  /** The same as `oldTopic`, when they keep their topic, each in whatever case it is written. */
  readonly topic: string;
  /** Whether they all have it in one case after the move. */
  readonly isOneSpelling: boolean;
  /** Of the messages that go elsewhere by it, ascending. */
  readonly ids: readonly number[];
  /** Whether the topic is marked as resolved, or not any more, and nothing else; null when it is something else. */
  readonly resolution: 'resolved' | 'unresolved' | null;
  /** Whether nothing stays behind that the mover may read. */
  readonly isWhole: boolean;
  /** Whether there are other messages where they go. */
  readonly merges: boolean;
}
