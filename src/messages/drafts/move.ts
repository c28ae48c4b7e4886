import { userIdsReading } from '../../channels/audience.ts';
import { users } from '../../events/audience.ts';
import type { Emit } from '../../events/log.ts';
import { type Channel, type Organization, Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { draftUpdated } from './events.ts';

/**
 * Maximum number of drafts that are moved with a topic. The drafts that were edited last are moved; others keep the old topic.
 * Each moved draft causes an event. Other changes of the organization wait until all of these events are logged.
 */
const MAX_DRAFTS = 1_000;
/**
 * Maximum number of one author's drafts that are moved with a topic. The drafts that were edited last are moved; others keep
 * the old topic.
 */
const MAX_OF_AUTHOR = 20;

/** Old and new location of a topic whose messages were all moved. Both topic names were normalized by `topicNamed`. */
export interface DraftMove {
  readonly from: Channel;
  readonly to: Channel;
  readonly oldTopic: string;
  readonly topic: string;
}

/**
 * Moves the drafts for a topic to the new location of its messages, and notifies their authors. Drafts of users who cannot read
 * the target channel are not moved.
 */
export async function moveTopicDrafts(
  tx: Tx,
  emit: Emit,
  { organization, now }: { readonly organization: Organization; readonly now: Date },
  { from, to, oldTopic, topic }: DraftMove,
): Promise<void> {
  const inTopic = Prisma.sql`
    type = 'stream' AND "to"[1] = ${from.id} AND topic_key(topic) = topic_key(${oldTopic})`;
  const found = await tx.$queryRaw<{ id: number; author_id: number }[]>`
    SELECT id, author_id FROM draft WHERE realm_id = ${organization.id} AND ${inTopic} AND id IN (
      SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY author_id ORDER BY last_edited_at DESC, id DESC) AS nth
        FROM draft WHERE realm_id = ${organization.id} AND ${inTopic}) AS of_author
      WHERE nth <= ${MAX_OF_AUTHOR})
    ORDER BY last_edited_at DESC, id DESC LIMIT ${MAX_DRAFTS} FOR NO KEY UPDATE`;
  if (found.length === 0) return;
  const authorIds = [...new Set(found.map((draft) => draft.author_id))];
  const readers = new Set(await userIdsReading(tx, organization, to, authorIds, now));
  const ids = found.flatMap((draft) => (readers.has(draft.author_id) ? [draft.id] : []));
  const where = { organizationId: organization.id, id: { in: ids } };
  const moved = await tx.draft.updateManyAndReturn({ where, data: { to: [to.id], topic } });
  for (const draft of moved) emit(draftUpdated(draft, organization), users([draft.authorId]));
}
