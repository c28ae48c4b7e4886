import { emptyTopicName } from '../../channels/topic-name.ts';
import { defineEvent } from '../../events/define.ts';
import type { EventView } from '../../events/view.ts';
import type { Draft, Realm } from '../../generated/prisma/client.ts';
import { toWire, type WireDraft, withTopicName } from './wire.ts';

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
    render: ({ drafts, empty_topic_name }, view) => ({
      type: 'drafts',
      op: 'add',
      drafts: drafts.map((draft) => seenBy(view, draft, empty_topic_name)),
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
    render: ({ draft, empty_topic_name }, view) => ({
      type: 'drafts',
      op: 'update',
      draft: seenBy(view, draft, empty_topic_name),
    }),
  },
);

export const draftRemoved = defineEvent('drafts', 'remove', (draftId: number) => ({ draft_id: draftId }));

function seenBy({ options }: EventView, draft: WireDraft, emptyTopicName: string): WireDraft {
  return options.capabilities.empty_topic_name ? draft : withTopicName(draft, emptyTopicName);
}
