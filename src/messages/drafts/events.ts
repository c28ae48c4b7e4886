import { z } from 'zod';
import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import { tells } from '../../events/wire.ts';
import type { Draft, Realm } from '../../generated/prisma/client.ts';
import { type DraftFacts, toFacts, wireDraft, wireOf, withShownTopic } from './wire.ts';

// All go to the author's own clients only: drafts are private.

/** A draft, and whose it is: nobody else hears of it. */
export interface KnownDraft extends DraftFacts {
  readonly authorId: number;
}

interface AddedPayload {
  readonly drafts: readonly DraftFacts[];
  readonly empty_topic_name: string;
}

export const draftsAdded = defineEvent(
  'drafts',
  'add',
  (drafts: readonly Draft[], realm: Realm): AddedPayload => ({
    drafts: drafts.map(toFacts),
    empty_topic_name: emptyTopicName(realm),
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
    facts: ({ drafts }, { userId }): readonly KnownDraft[] => drafts.map((draft) => ({ ...draft, authorId: userId })),
  },
);

interface UpdatedPayload {
  readonly draft: DraftFacts;
  readonly empty_topic_name: string;
}

export const draftUpdated = defineEvent(
  'drafts',
  'update',
  (draft: Draft, realm: Realm): UpdatedPayload => ({ draft: toFacts(draft), empty_topic_name: emptyTopicName(realm) }),
  {
    perUser: true,
    render: ({ draft, empty_topic_name }, { options }) => ({
      type: 'drafts',
      op: 'update',
      draft: withShownTopic(wireOf(draft), empty_topic_name, options.capabilities.empty_topic_name),
    }),
    facts: ({ draft }, { userId }): KnownDraft => ({ ...draft, authorId: userId }),
  },
);

export const draftRemoved = defineEvent('drafts', 'remove', (draftId: number) => ({ draft_id: draftId }));

tells(draftsAdded, 'their author', { drafts: z.array(wireDraft) });
tells(draftUpdated, 'its author', { draft: wireDraft });
tells(draftRemoved, 'its author', { draft_id: z.int() });
