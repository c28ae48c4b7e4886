import type { Runtime } from '../../access/context.ts';
import type { Organization, ScheduledMessage, User } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { BadRequestError } from '../../platform/errors.ts';
import { MAX_MESSAGE_LENGTH } from '../../platform/limits.ts';
import { cutText, lengthOf } from '../../platform/text.ts';
import { accessMessageIn, type PlacedMessage } from '../access.ts';
import { directAddress, fenceFor, silentMention, topicLink } from '../sending/links.ts';

/**
 * Builds the content of a reminder: a link to the message, the note if there is one, and a quote of the message.
 *
 * @param note Text by the owner. "" if there is none.
 */
export function reminderOf(message: PlacedMessage, author: User, note: string): string {
  const fence = fenceFor(`${note}\n${message.content}`);
  const before = [
    `You asked to be reminded of ${linkTo(message)}.`,
    '',
    ...(note === '' ? [] : ['Your note:', `${fence}quote`, note, fence, '']),
    `${silentMention(author)} wrote:`,
    `${fence}quote`,
    '',
  ].join('\n');
  const space = MAX_MESSAGE_LENGTH - lengthOf(`${before}\n${fence}`);
  return `${before}${cutText(message.content, space, '\n[message truncated]')}\n${fence}`;
}

function linkTo({ id, channel, conversation, topic }: PlacedMessage): string {
  if (channel !== null) return topicLink(channel, topic, Number(id));
  return `[a direct message](${directAddress(conversation?.memberIds ?? [], Number(id))})`;
}

/**
 * Extracts the note from the content of a reminder. The note is stored nowhere else. The last line of the content is the fence,
 * which neither the note nor the message contains. Returns "" if there is no note.
 */
function noteIn(content: string): string {
  const fence = content.slice(content.lastIndexOf('\n') + 1);
  const [, note, quote] = content.split(`\n${fence}quote\n`);
  return note === undefined || quote === undefined ? '' : note.slice(0, note.indexOf(`\n${fence}\n`));
}

/**
 * Builds the content of a reminder when it is delivered, from the current message. If the message was deleted, or the owner can
 * no longer read it, returns the stored content.
 */
export async function reminderAtDelivery(
  tx: Tx,
  app: Runtime,
  { content, clientName, reminderTargetId }: ScheduledMessage,
  { owner, organization }: { readonly owner: User; readonly organization: Organization },
): Promise<string> {
  const viewer = { organization, user: owner, id: owner.id, role: owner.role, clientName, credential: null };
  try {
    const message = await accessMessageIn(tx, viewer, Number(reminderTargetId), app.now());
    return reminderOf(message, await authorOf(tx, message), noteIn(content));
  } catch (error) {
    if (error instanceof BadRequestError) return content;
    throw error;
  }
}

/** Reads the user who sent the message. */
export async function authorOf(db: Pick<Tx, 'user'>, { organizationId, senderId }: PlacedMessage): Promise<User> {
  return db.user.findUniqueOrThrow({ where: { organizationId_id: { organizationId, id: senderId } } });
}
