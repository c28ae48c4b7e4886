import type { Runtime } from '../../access/context.ts';
import { localTime } from '../../access/local-time.ts';
import { channelAddress } from '../../channels/addresses.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { plainTextOf } from '../../markdown/plain-text.ts';
import { urlOf } from '../../platform/hosts.ts';
import { oneLine } from '../../platform/mail/outbox.ts';
import { type Names, placeOf, textOf, urlOfMessage } from '../notifications/content.ts';
import { cutTo, type UnsubscribableText } from '../notifications/mail-parts.ts';
import { unsubscribeUrl } from '../notifications/unsubscribe.ts';
import type { ActiveTopic, Count, MissedBy, MissedContent } from './missed.ts';

/** Maximum length of the text of one message, in UTF-16 code units. */
const MAX_TEXT = 300;
/** Maximum length of the description of a channel, in UTF-16 code units. */
const MAX_DESCRIPTION = 200;
/** Number of senders of a topic whose names are shown. Further ones are counted. */
const MAX_NAMES = 3;

type MailApp = Pick<Runtime, 'config' | 'keys'>;

/** The parts of a digest. */
export interface Digest extends MissedBy {
  readonly missed: MissedContent;
  /** Names of the senders. */
  readonly names: Names;
  /** Whether the email contains texts, names and places. Otherwise it contains only numbers. */
  readonly isShown: boolean;
  /** End of the subject, from `nameSuffix`. */
  readonly suffix: string;
}

/** Returns the email with what a user has missed. */
export function digestMail(app: MailApp, digest: Digest): UnsubscribableText {
  const { organization, user, since, missed, isShown, suffix } = digest;
  const { directCount, conversationCount } = missed;
  const direct =
    directCount.count === 0
      ? []
      : [
          `You have ${countOf(directCount, 'unread direct message')} in ${countOf(conversationCount, 'conversation')}.\n`,
        ];
  const parts = isShown ? [...topicsOf(app, digest), ...channelsOf(app, digest)] : numbersOf(missed);
  const text = [
    `New in ${oneLine(organization.name)} since ${localTime(since, user)}:\n`,
    ...direct,
    ...parts,
    ...(isShown ? [] : [HIDDEN]),
  ].join('\n');
  return mailOf(app, organization, user, suffix, text);
}

const HIDDEN =
  'This email does not show texts and names, because your settings or those of the organization turn this off.\n';

function mailOf(
  app: MailApp,
  organization: Organization,
  user: Pick<User, 'id' | 'email'>,
  suffix: string,
  text: string,
): UnsubscribableText {
  const unsubscribe = unsubscribeUrl(app, 'digest', organization, user);
  return {
    subject: `Weekly digest${suffix}`,
    body: `${text}
Open the chat: ${urlOf(app.config, organization.subdomain)}/

--
You receive this email because you have not been active for five days or more. It is sent at most once a week.
Stop these emails: ${unsubscribe}
`,
    unsubscribeUrl: unsubscribe,
  };
}

/** Returns a number with a noun: "1 topic", "2 topics", "200 or more topics". */
function countOf(given: number | Count, noun: string): string {
  const { count, isCut } = typeof given === 'number' ? { count: given, isCut: false } : given;
  return `${count}${isCut ? ' or more' : ''} ${noun}${count === 1 && !isCut ? '' : 's'}`;
}

/** Returns the lines about numbers of messages and channels, for digests without texts and names. */
const numbersOf = ({ topicCount, messageCount, channelCount }: MissedContent): string[] => [
  ...(topicCount.count === 0
    ? []
    : [`Your channels have ${countOf(messageCount, 'new message')} in ${countOf(topicCount, 'topic')}.\n`]),
  ...(channelCount === 0
    ? []
    : [`There ${channelCount === 1 ? 'is' : 'are'} ${countOf(channelCount, 'new channel')}.\n`]),
];

function topicsOf(app: MailApp, digest: Digest): string[] {
  const { topics, topicCount } = digest.missed;
  const more = { ...topicCount, count: topicCount.count - topics.length };
  return [
    ...topics.map((topic) => topicText(app, digest, topic)),
    ...(more.count > 0 ? [`… and new messages in ${countOf(more, 'other topic')}.\n`] : []),
  ];
}

function topicText(app: MailApp, digest: Digest, { messages, messageCount, senderIds }: ActiveTopic): string {
  const { organization, user, names } = digest;
  const [first] = messages;
  const place = oneLine(placeOf(first, { organization, names, readerId: user.id }));
  const texts = messages.map(
    (message) =>
      `  ${nameOf(names, message.senderId)}, ${localTime(message.sentAt, user)}: ${cutTo(MAX_TEXT, oneLine(textOf(message)))}\n`,
  );
  return `${place}: ${countOf(messageCount, 'message')} by ${sendersOf(senderIds, names)}\n${texts.join('')}  ${urlOfMessage(app, organization, first)}\n`;
}

const nameOf = (names: Names, id: number): string => oneLine(names.get(id)?.fullName ?? '');

/** Returns the names of senders: "Ada", "Ada and Grace", "Ada, Grace, Alan and 2 others". */
function sendersOf(ids: readonly number[], names: Names): string {
  const more = ids.length - MAX_NAMES;
  const shown = ids.slice(0, MAX_NAMES).map((id) => nameOf(names, id));
  if (more > 0) return `${shown.join(', ')} and ${more === 1 ? 'one other' : `${more} others`}`;
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`;
}

/** Returns the ids of the users whose names a digest shows. */
export const namedIn = ({ topics }: MissedContent): number[] => [
  ...new Set(
    topics.flatMap(({ messages, senderIds }) => [
      ...messages.map(({ senderId }) => senderId),
      ...senderIds.slice(0, MAX_NAMES),
    ]),
  ),
];

function channelsOf(app: MailApp, { organization, missed: { channels, channelCount } }: Digest): string[] {
  const url = urlOf(app.config, organization.subdomain);
  const more = channelCount - channels.length;
  return [
    ...channels.map((channel) => {
      const description = cutTo(MAX_DESCRIPTION, oneLine(plainTextOf(channel.renderedDescription)));
      return `New channel: #${oneLine(channel.name)}${description === '' ? '' : ` – ${description}`}\n  ${url}/${channelAddress(channel)}\n`;
    }),
    ...(more > 0 ? [`… and ${more === 1 ? 'one more new channel' : `${more} more new channels`}.\n`] : []),
  ];
}
