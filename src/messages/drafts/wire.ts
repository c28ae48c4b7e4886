import type { Draft } from '../../generated/prisma/client.ts';

export interface WireDraft {
  readonly id: number;
  /** "", "stream" or "private". */
  readonly type: string;
  readonly to: readonly number[];
  readonly topic: string;
  readonly content: string;
  /** UNIX seconds. */
  readonly timestamp: number;
}

export function toWire({ id, type, to, topic, content, lastEditedAt }: Draft): WireDraft {
  return { id, type, to, topic, content, timestamp: Math.floor(lastEditedAt.getTime() / 1000) };
}

/** The draft for a client that does not know the empty topic. */
export function withTopicName(draft: WireDraft, emptyTopicName: string): WireDraft {
  return draft.type === 'stream' && draft.topic === '' ? { ...draft, topic: emptyTopicName } : draft;
}
