import type { Channel } from '../../generated/prisma/client.ts';
/** A requested edit. Values that equal the current ones are undefined. */
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
  /** Name of the new topic. If it equals `oldTopic`, the topic does not change and each message keeps its spelling. */
  readonly topic: string;
  /** Whether all moved messages spell the topic alike after the move. */
  readonly isOneSpelling: boolean;
  /** Ids of the messages whose location changes, ascending. */
  readonly ids: readonly number[];
  /** Whether the move only marks the topic as resolved or unresolved, and which of the two. Null for any other move. */
  readonly resolution: 'resolved' | 'unresolved' | null;
  /** Whether the move leaves no message in the old topic that the viewer can read. */
  readonly isWhole: boolean;
  /** Whether the move only changes the spelling of the topic: the old and the new name denote the same topic. */
  readonly isSameTopic: boolean;
  /** Whether the target topic is a different topic that already has messages. */
  readonly merges: boolean;
}
