import type { Ctx } from '../../access/context.ts';
import type { Emit } from '../../events/log.ts';
import type { User, UserGroup } from '../../generated/prisma/client.ts';
import { notify } from '../../messages/sending/notices.ts';
import type { Tx } from '../../platform/db/client.ts';
import { MAX_BULK_NEW_SUBSCRIPTION_MESSAGES } from '../../platform/limits.ts';
import type { HeldGroup } from './access.ts';

/** Maximum number of people notified of a change. If there are more, none is notified, as with new subscriptions. */
const MAX_NOTICES = MAX_BULK_NEW_SUBSCRIPTION_MESSAGES;

/** Sends a direct message of the service's bot to people whom another user added to a group or removed from it. */
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
  const place = { app, realm: actor.person.realm };
  for (const { id } of people) await notify(tx, emit, place, { userIds: [id] }, content);
}

/** Returns the group as a silent mention if its name can occur in one, otherwise by its id. */
const nameOf = ({ id, name }: UserGroup): string => (/[*\n]/.test(name) ? `with ID ${id}` : `@_*${name}*`);
