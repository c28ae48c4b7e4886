import type { Ctx } from '../../access/context.ts';
import type { Emit } from '../../events/log.ts';
import type { User, UserGroup } from '../../generated/prisma/client.ts';
import { notify } from '../../messages/sending/notices.ts';
import type { Tx } from '../../platform/db/client.ts';
import { MAX_BULK_NEW_SUBSCRIPTION_MESSAGES } from '../../platform/limits.ts';
import type { HeldGroup } from './access.ts';

/**
 * Maximum number of people who are notified of one change of a group. If the change affects more people, none of them is
 * notified. New subscriptions have the same limit.
 */
const MAX_NOTICES = MAX_BULK_NEW_SUBSCRIPTION_MESSAGES;

/**
 * Sends a direct message from the service's bot to people whom the viewer added to a group or removed from it. The viewer and
 * bots receive no message. If more than `MAX_NOTICES` people remain, no message is sent.
 */
export async function notifyMembers(
  tx: Tx,
  emit: Emit,
  { app, viewer }: Ctx,
  { actor, group }: HeldGroup,
  members: readonly User[],
  what: 'added' | 'removed',
): Promise<void> {
  const people = members.filter(({ id, botType }) => botType === null && id !== viewer.id);
  if (people.length > MAX_NOTICES) return;
  const actorMention = `@_**${viewer.user.fullName}|${viewer.id}**`;
  const content =
    what === 'added'
      ? `${actorMention} added you to the group ${nameOf(group)}.`
      : `${actorMention} removed you from the group ${nameOf(group)}.`;
  const place = { app, organization: actor.person.organization };
  for (const { id } of people) await notify(tx, emit, place, { userIds: [id] }, content);
}

/** Returns a silent mention of the group. If a mention cannot contain the group's name, returns a text with the group's id. */
const nameOf = ({ id, name }: UserGroup): string => (/[*\n]/.test(name) ? `with ID ${id}` : `@_*${name}*`);
