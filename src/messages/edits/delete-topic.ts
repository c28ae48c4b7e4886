import type { Ctx } from '../../access/context.ts';
import { administersOrganization, requireAdministrator } from '../../access/roles.ts';
import { accessChannelContent, hasProtectedHistory, invalidChannelId } from '../../channels/access.ts';
import { topicNamed } from '../../channels/topic-name.ts';
import { changing } from '../../events/act.ts';
import type { AuditEntry } from '../../events/audit.ts';
import { transact } from '../../events/log.ts';
import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import { MAX_TOPIC_LENGTH } from '../../platform/limits.ts';
import { requireText } from '../../platform/text.ts';
import { receivedBy } from '../access.ts';
import { clearTopicPolicies } from '../topic-policies/service.ts';
import { deletedIds, deleteMessages } from './delete.ts';

/** Time after which a request stops deleting, in milliseconds. Another request must then continue. */
const BUDGET_MS = 50_000;
/**
 * Maximum number of messages per transaction. Further messages are deleted in the next transaction. The number is small,
 * because other changes in the organization wait for the transaction.
 */
const BATCH = 100;

/** Returns whether the viewer can delete the topics of channels, if they are not archived. */
export const mayDeleteTopics = (ctx: Ctx): boolean => administersOrganization(ctx);

/**
 * Deletes all messages of a topic that the viewer can read, newest first, in batches of one transaction each. When the topic
 * has no messages left, all users' visibility policies for the topic are deleted.
 *
 * @param topicName Name of the topic, at most 60 code points. Letter case and Unicode form do not matter.
 * @returns True if all these messages are deleted. False if 50 seconds have passed and another call must continue.
 * @throws UnauthorizedPrincipalError if the viewer is not an administrator.
 * @throws NotFoundError if the channel does not exist, is archived or cannot be read by the viewer.
 * @throws ValidationError if the name is too long.
 */
export async function deleteTopic(ctx: Ctx, channelId: number, topicName: string): Promise<boolean> {
  requireAdministrator(ctx);
  const topic = topicNamed(ctx.viewer.organization, requireText('topic_name', topicName, { max: MAX_TOPIC_LENGTH }));
  const deadline = ctx.app.now().getTime() + BUDGET_MS;
  return changing(async () => {
    for (;;) {
      if (await deleteBatch(ctx, channelId, topic)) return true;
      if (ctx.app.now().getTime() >= deadline) return false;
    }
  });
}

/** Deletes one batch of a topic's messages. Returns true if the topic has no further message that the viewer can read. */
async function deleteBatch(ctx: Ctx, channelId: number, topic: string): Promise<boolean> {
  const { app, viewer, organizationId } = ctx;
  // Access is checked again for each batch, because the viewer can lose it in the meantime.
  const channel = await accessChannelContent(ctx, channelId);
  if (channel.isArchived) throw invalidChannelId(channelId);
  return transact(ctx, async (tx, emit) => {
    const place = { organization: viewer.organization, now: app.now() };
    const rows = await tx.$queryRaw<{ id: bigint }[]>`
      SELECT m.id FROM message m
      WHERE m.realm_id = ${organizationId} AND ${isIn(channel, topic)} AND ${hasProtectedHistory(channel) ? receivedBy(organizationId, viewer.id) : Prisma.sql`true`}
      ORDER BY m.id DESC LIMIT ${BATCH}`;
    const ids = rows.map(({ id }) => Number(id));
    const deleted = await deleteMessages(tx, emit, { ...place, deleter: viewer }, ids);
    if (deleted.length > 0) emit.audit(topicDeleted(channel, topic, deleted));
    if (ids.length === BATCH) return false;
    const unseen = await tx.$queryRaw<unknown[]>`
      SELECT 1 FROM message m WHERE m.realm_id = ${organizationId} AND ${isIn(channel, topic)} LIMIT 1`;
    if (unseen.length === 0) await clearTopicPolicies(tx, emit, place, { channelId, topic });
    return true;
  });
}

/**
 * Returns the entry of the audit log for a batch of deleted messages of a topic. It names the topic only if administrators can
 * see the topics of the channel.
 */
const topicDeleted = ({ id, name, inviteOnly }: Channel, topic: string, messageIds: readonly number[]): AuditEntry => ({
  ...{ action: 'topic_deleted', objectType: 'channel', objectId: id, objectName: name },
  changes: { ...(!inviteOnly && { topic: { old: topic } }), ...deletedIds(messageIds) },
});

const isIn = ({ id }: Channel, topic: string): Prisma.Sql =>
  Prisma.sql`m.channel_id = ${id} AND topic_key(m.topic) = topic_key(${topic})`;
