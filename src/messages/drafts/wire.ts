import { z } from 'zod';
import type { Draft } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';
import { shownTopic } from '../wire.ts';

export const DRAFT_TYPES = ['', 'stream', 'private'] as const;
/** Where a draft is to go: nowhere yet, to a channel, or to people. */
export type DraftType = (typeof DRAFT_TYPES)[number];

export const wireDraft = z
  .object({
    id: z.int(),
    type: z.enum(DRAFT_TYPES),
    to: z.array(z.int()).describe('One channel id, or user ids.'),
    topic: z.string(),
    content: z.string(),
    timestamp: z.int().describe('UNIX seconds.'),
  })
  .meta({ id: 'Draft' });
export type WireDraft = Wire<typeof wireDraft>;

/** A draft as its events keep it. */
export interface DraftFacts extends WireDraft {
  /** ISO 8601, to the millisecond; absent in events logged before they told it. */
  readonly lastEditedAt?: string;
}

export function toWire({ id, type, to, topic, content, lastEditedAt }: Draft): WireDraft {
  return { id, type: type as DraftType, to, topic, content, timestamp: Math.floor(lastEditedAt.getTime() / 1000) };
}

export const toFacts = (draft: Draft): DraftFacts => ({
  ...toWire(draft),
  lastEditedAt: draft.lastEditedAt.toISOString(),
});

/** What the wire has of a draft. */
export const wireOf = ({ lastEditedAt: _, ...draft }: DraftFacts): WireDraft => draft;

/** The draft for a client that may not know the empty topic. */
export function withShownTopic(draft: WireDraft, emptyTopicName: string, knowsEmptyTopic: boolean): WireDraft {
  return draft.type === 'stream'
    ? { ...draft, topic: shownTopic(draft.topic, emptyTopicName, knowsEmptyTopic) }
    : draft;
}
