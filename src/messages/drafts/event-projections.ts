import { EventProjection, instantOf } from '../../api/graphql/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { KnownDraft } from './events.ts';

/** Target of a draft, from the database or an event. */
interface Addressed {
  readonly type: string;
  readonly to: readonly number[];
}

/** Returns the channel of a draft. Null unless the draft is for a channel. */
export const channelOf = ({ type, to }: Addressed): number | null => (type === 'stream' ? (to[0] ?? null) : null);

/** Returns the recipients of a draft. Empty unless the draft is a direct message. */
export const peopleOf = ({ type, to }: Addressed): number[] => (type === 'private' ? [...to] : []);

/** Event projection of a draft. Excludes its channel, because the viewer may no longer see it. */
export const draftProjection = new EventProjection<KnownDraft>(
  'Draft',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    type: ({ type }) => type,
    recipients: { facts: userReference, of: peopleOf },
    topicName: ({ topic }) => topic,
    content: ({ content }) => content,
    lastEditedAt: ({ lastEditedAt, timestamp }) => instantOf(lastEditedAt, timestamp),
    author: { facts: userReference, of: ({ authorId }) => authorId },
  },
);
