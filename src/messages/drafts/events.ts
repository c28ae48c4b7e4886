import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { documentEvent } from '../../events/wire.ts';
import type { Draft, Organization } from '../../generated/prisma/client.ts';
import { type DraftSnapshot, toSnapshot, wireDraft, wireOf, withShownTopic } from './wire.ts';

// The events below are sent only to the author's clients, because drafts are private.

/** Snapshot of a draft in an event, with the id of the draft's author, who is the only recipient of the event. */
export interface ProjectedDraft extends DraftSnapshot {
  readonly authorId: number;
}

interface AddedPayload {
  readonly drafts: readonly DraftSnapshot[];
  readonly empty_topic_name: string;
}

export const draftsAdded = defineEvent(
  'drafts',
  'add',
  (drafts: readonly Draft[], organization: Organization): AddedPayload => ({
    drafts: drafts.map(toSnapshot),
    empty_topic_name: emptyTopicName(organization),
  }),
  {
    perUser: true,
    render: ({ drafts, empty_topic_name }, { options }) => ({
      type: 'drafts',
      op: 'add',
      drafts: drafts.map((draft) =>
        withShownTopic(wireOf(draft), empty_topic_name, options.capabilities.empty_topic_name),
      ),
    }),
    facts: ({ drafts }, { userId }): readonly ProjectedDraft[] =>
      drafts.map((draft) => ({ ...draft, authorId: userId })),
  },
);

interface UpdatedPayload {
  readonly draft: DraftSnapshot;
  readonly empty_topic_name: string;
}

export const draftUpdated = defineEvent(
  'drafts',
  'update',
  (draft: Draft, organization: Organization): UpdatedPayload => ({
    draft: toSnapshot(draft),
    empty_topic_name: emptyTopicName(organization),
  }),
  {
    perUser: true,
    render: ({ draft, empty_topic_name }, { options }) => ({
      type: 'drafts',
      op: 'update',
      draft: withShownTopic(wireOf(draft), empty_topic_name, options.capabilities.empty_topic_name),
    }),
    facts: ({ draft }, { userId }): ProjectedDraft => ({ ...draft, authorId: userId }),
  },
);

export const draftRemoved = defineEvent('drafts', 'remove', (draftId: number) => ({ draft_id: draftId }));

documentEvent(draftsAdded, 'the author', { drafts: z.array(wireDraft) });
documentEvent(draftUpdated, 'the author', { draft: wireDraft });
documentEvent(draftRemoved, 'the author', { draft_id: z.int() });
