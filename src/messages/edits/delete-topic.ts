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

/** How long one request deletes. */
const BUDGET_MS = 50_000;
/** Our choice: a change that keeps the organisation's other changes waiting for no longer than a moment. */
const BATCH = 100;

/**
 * Deletes all messages of a topic that the viewer may read, the newest first, in batches that are changes of their own;
 * when the last is gone, nobody has a policy of the topic any more.
 *
 * @param topicName In whatever case; at most 60 code points.
 * @returns Whether all are gone; if not, time was up, and the next call goes on.
 * @throws UnauthorizedPrincipalError when the viewer is no administrator.
 * @throws BadRequestError when the channel is not there, archived, or not the viewer's to read, or the name is
 *   too long.
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

/** @returns Whether there is nothing left. */
async function deleteBatch(ctx: Ctx, channelId: number, topic: string): Promise<boolean> {
  const { app, viewer, realmId } = ctx;
  // Anew for each batch: what the viewer may read can change in the meantime.
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
  Prisma.sql`m.realm_id = ${realmId} AND m.channel_id = ${id} AND lower(m.topic) = lower(${topic})`;
