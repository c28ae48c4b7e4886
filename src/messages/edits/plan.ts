import type { Channel } from '../../generated/prisma/client.ts';
/** A requested edit, without the parts that equal the current state. */
export interface RequestedEdit {
  readonly content: string | undefined;
  readonly topic: string | undefined;
  readonly channelId: number | undefined;
}

/** A permitted move of messages. */
export interface MessageMove {
  readonly from: Channel;
  readonly to: Channel;
  readonly oldTopic: string;
  /** Equals `oldTopic` if the topic is unchanged. Then each message keeps its spelling of the topic. */
  readonly topic: string;
  /** Whether all messages spell the topic alike after the move. */
  readonly isOneSpelling: boolean;
  /** Ids of the messages whose location changes, ascending. */
  readonly ids: readonly number[];
  /** Set if the move only marks the topic as resolved or unresolved. Null for any other move. */
  readonly resolution: 'resolved' | 'unresolved' | null;
  /** Whether the move leaves no message in the old topic that the viewer can read. */
  readonly isWhole: boolean;
  /** Whether the move only changes the spelling of the topic: old and new name denote the same topic. */
  readonly isSameTopic: boolean;
  /** Whether the target topic already has messages. */
  readonly merges: boolean;
}
