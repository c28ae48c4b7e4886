import type { Runtime } from '../../access/context.ts';
import { emptyTopicName } from '../../channels/topic-name.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { withoutEmbeds } from '../../markdown/embeds.ts';
import { plainTextOf } from '../../markdown/plain-text.ts';
import { urlOf } from '../../platform/hosts.ts';
import type { PlacedMessage } from '../access.ts';
import { directAddress, topicAddress } from '../sending/links.ts';

/** Names of users of one organization, by id. */
export type Names = ReadonlyMap<number, Pick<User, 'id' | 'fullName' | 'avatarVersion'>>;

/** Returns the ids of the users whose names are shown with messages: senders, and members of conversations. */
export const namedUsers = (messages: readonly PlacedMessage[]): number[] => [
  ...new Set(messages.flatMap(({ senderId, conversation }) => [senderId, ...(conversation?.memberIds ?? [])])),
];

/** Returns the text of a message without markup and previews of pages. */
export const textOf = ({ renderedContent }: Pick<PlacedMessage, 'renderedContent'>): string =>
  plainTextOf(withoutEmbeds(renderedContent));

/**
 * Returns the name of the topic or conversation of a message, as a reader sees it: `#general › lunch`, or the names of the
 * other members.
 */
export function placeOf(
  { channel, topic, conversation }: PlacedMessage,
  {
    organization,
    readerId,
    names,
  }: { readonly organization: Organization; readonly readerId: number; readonly names: Names },
): string {
  if (channel !== null) return `#${channel.name} › ${topic === '' ? emptyTopicName(organization) : topic}`;
  const others = conversation?.memberIds.filter((id) => id !== readerId) ?? [];
  return others.map((id) => names.get(id)?.fullName ?? '').join(', ');
}

/** Returns the absolute URL at which the chat opens a message. */
export function urlOfMessage(
  { config }: Pick<Runtime, 'config'>,
  { subdomain }: Organization,
  { id, channel, topic, conversation }: PlacedMessage,
): string {
  const address =
    channel === null
      ? directAddress(conversation?.memberIds ?? [], Number(id))
      : topicAddress(channel, topic, Number(id));
  return `${urlOf(config, subdomain)}/${address}`;
}
