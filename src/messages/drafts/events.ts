import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import type { Draft, Realm } from '../../generated/prisma/client.ts';
import { toWire, type WireDraft, withShownTopic } from './wire.ts';

// All go to the author's own clients only: drafts are private.

interface AddedPayload {
  readonly drafts: readonly WireDraft[];
  readonly empty_topic_name: string;
}

export const draftsAdded = defineEvent(
  'drafts',
  'add',
  (drafts: readonly Draft[], realm: Realm): AddedPayload => ({
    drafts: drafts.map(toWire),
    empty_topic_name: emptyTopicName(realm),
  }),
  {
    render: ({ drafts, empty_topic_name }, { options }) => ({
      type: 'drafts',
      op: 'add',
      drafts: drafts.map((draft) => withShownTopic(draft, empty_topic_name, options.capabilities.empty_topic_name)),
    }),
  },
);

interface UpdatedPayload {
  readonly draft: WireDraft;
  readonly empty_topic_name: string;
}

export const draftUpdated = defineEvent(
  'drafts',
  'update',
  (draft: Draft, realm: Realm): UpdatedPayload => ({ draft: toWire(draft), empty_topic_name: emptyTopicName(realm) }),
  {
    render: ({ draft, empty_topic_name }, { options }) => ({
      type: 'drafts',
      op: 'update',
      draft: withShownTopic(draft, empty_topic_name, options.capabilities.empty_topic_name),
    }),
  },
);

export const draftRemoved = defineEvent('drafts', 'remove', (draftId: number) => ({ draft_id: draftId }));
