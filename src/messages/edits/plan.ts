import type { Channel } from '../../generated/prisma/client.ts';

/**
 * A requested edit of a message. A field is undefined if the message already has the requested value or no value is requested.
 */
export interface RequestedEdit {
  readonly content: string | undefined;
  readonly topic: string | undefined;
  readonly channelId: number | undefined;
}

/** A move of messages that the viewer is permitted to make. */
export interface MessageMove {
  readonly from: Channel;
  readonly to: Channel;
  readonly oldTopic: string;
  /**
   * Name of the new topic. If it equals `oldTopic`, the topic does not change, and each message keeps its own spelling of the
   * topic (letter case, Unicode form).
   */
  readonly topic: string;
  /** Whether all moved messages have exactly the same topic name after the move, including letter case and Unicode form. */
  readonly isOneSpelling: boolean;
  /** Ids of the messages whose location changes, ascending. */
  readonly ids: readonly number[];
  /** `resolved` or `unresolved` if the move only marks the topic as such. Null for any other move. */
  readonly resolution: 'resolved' | 'unresolved' | null;
  /** Whether the move leaves no message in the old topic that the viewer can read. */
  readonly isWhole: boolean;
  /**
   * Whether the move only changes letter case or Unicode form of the topic's name, so that the old and the new name denote one
   * topic.
   */
  readonly isSameTopic: boolean;
  /** Whether the target is another topic that already has messages. */
  readonly merges: boolean;
}
