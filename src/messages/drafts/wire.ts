import { z } from 'zod';
import type { Draft } from '../../generated/prisma/client.ts';
import type { Wire } from '../../platform/wire.ts';
import { shownTopic } from '../wire.ts';

export const DRAFT_TYPES = ['', 'stream', 'private'] as const;
/** Type of a draft's target: "" for no target yet, "stream" for a channel, "private" for users. */
export type DraftType = (typeof DRAFT_TYPES)[number];

export const wireDraft = z
  .object({
    id: z.int(),
    type: z.enum(DRAFT_TYPES),
    to: z.array(z.int()).describe('One channel id, or user ids. Empty if the draft has no target.'),
    topic: z.string(),
    content: z.string(),
    timestamp: z.int().describe('Time of the last edit, in UNIX seconds.'),
  })
  .meta({ id: 'Draft' });
export type WireDraft = Wire<typeof wireDraft>;

/** Snapshot of a draft in an event, from which the event is rendered. */
export interface DraftSnapshot extends WireDraft {
  /** Time of the last edit, in ISO 8601 with milliseconds. Absent in events logged by earlier versions. */
  readonly lastEditedAt?: string;
}

export function toWire({ id, type, to, topic, content, lastEditedAt }: Draft): WireDraft {
  return { id, type: type as DraftType, to, topic, content, timestamp: Math.floor(lastEditedAt.getTime() / 1000) };
}

export const toSnapshot = (draft: Draft): DraftSnapshot => ({
  ...toWire(draft),
  lastEditedAt: draft.lastEditedAt.toISOString(),
});

/** Returns a draft as the REST API shows it, without the fields that only event snapshots contain. */
export const wireOf = ({ lastEditedAt: _, ...draft }: DraftSnapshot): WireDraft => draft;

/** Returns the draft with `emptyTopicName` instead of an empty topic, if the client does not accept "" as a topic name. */
export function withShownTopic(draft: WireDraft, emptyTopicName: string, knowsEmptyTopic: boolean): WireDraft {
  return draft.type === 'stream'
    ? { ...draft, topic: shownTopic(draft.topic, emptyTopicName, knowsEmptyTopic) }
    : draft;
}
