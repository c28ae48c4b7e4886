import { EventProjection, instantOf } from '../../api/graphql/schema/event-projections.ts';
import { userReference } from '../../people/event-projections.ts';
import type { ProjectedDraft } from './events.ts';

/** Type of a draft and the ids of its target, as in the database and in events. */
interface Addressed {
  readonly type: string;
  readonly to: readonly number[];
}

/** Returns the channel id of a draft. Null unless the draft is for a channel. */
export const channelOf = ({ type, to }: Addressed): number | null => (type === 'stream' ? (to[0] ?? null) : null);

/** Returns the ids of the recipients of a draft. Empty unless the draft is for a direct message. */
export const peopleOf = ({ type, to }: Addressed): number[] => (type === 'private' ? [...to] : []);

/** Event projection of a draft. It excludes the channel, because the viewer may no longer be able to see it. */
export const draftProjection = new EventProjection<ProjectedDraft>(
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
