import type { Ctx } from '../../access/context.ts';
import { requireAdministrator } from '../../access/roles.ts';
import { accessChannelContent, invalidChannelId } from '../../channels/access.ts';
import { topicNamed } from '../../channels/topic-name.ts';
import { changing } from '../../events/act.ts';
import { transact } from '../../events/log.ts';
import { type Channel, Prisma } from '../../generated/prisma/client.ts';
import { MAX_TOPIC_LENGTH } from '../../platform/limits.ts';
import { requireText } from '../../platform/text.ts';
import { hasProtectedHistory, receivedBy } from '../access.ts';
import { clearTopicPolicies } from '../topic-policies/service.ts';
import { deleteMessages } from './delete.ts';

/** Time budget of one request, in milliseconds. */
const BUDGET_MS = 50_000;
/** Messages per transaction, so that other changes in the organization wait only briefly. */
const BATCH = 100;

/**
 * Deletes all messages of a topic that the viewer can read, newest first, in batches with a transaction each. With the last
 * message of the topic, all users' policies for it are deleted.
 *
 * @param topicName In any spelling, at most 60 code points.
 * @returns True if all messages are deleted. False if the time budget is used up: the next call continues.
 * @throws UnauthorizedPrincipalError if the viewer is not an administrator.
 * @throws BadRequestError if the channel does not exist, is archived or cannot be read by the viewer, or if the name is too long.
 */
export async function deleteTopic(ctx: Ctx, channelId: number, topicName: string): Promise<boolean> {
  requireAdministrator(ctx);
  const topic = topicNamed(ctx.viewer.realm, requireText('topic_name', topicName, { max: MAX_TOPIC_LENGTH }));
  const deadline = ctx.app.now().getTime() + BUDGET_MS;
  return changing(async () => {
    for (;;) {
      if (await deleteBatch(ctx, channelId, topic)) return true;
      if (ctx.app.now().getTime() >= deadline) return false;
    }
  });
}

/** @returns Whether no message is left to delete. */
async function deleteBatch(ctx: Ctx, channelId: number, topic: string): Promise<boolean> {
  const { app, viewer, realmId } = ctx;
  // Checked again for each batch, because the viewer can lose access in the meantime.
  const channel = await accessChannelContent(ctx, channelId);
  if (channel.isArchived) throw invalidChannelId();
  return transact({ app, realmId }, async (tx, emit) => {
    const place = { realm: viewer.realm, now: app.now() };
    const rows = await tx.$queryRaw<{ id: bigint }[]>`
      SELECT m.id FROM message m
      WHERE ${isOf(channel, topic)} AND ${hasProtectedHistory(channel) ? receivedBy(viewer.id) : Prisma.sql`true`}
      ORDER BY m.id DESC LIMIT ${BATCH}`;
    const ids = rows.map(({ id }) => Number(id));
    await deleteMessages(tx, emit, { ...place, deleter: viewer }, ids);
    if (ids.length === BATCH) return false;
    const unseen = await tx.$queryRaw<unknown[]>`SELECT 1 FROM message m WHERE ${isOf(channel, topic)} LIMIT 1`;
    if (unseen.length === 0) await clearTopicPolicies(tx, emit, place, { channelId, topic });
    return true;
  });
}

const isOf = ({ id, realmId }: Channel, topic: string): Prisma.Sql =>
  Prisma.sql`m.realm_id = ${realmId} AND m.channel_id = ${id} AND topic_key(m.topic) = topic_key(${topic})`;
