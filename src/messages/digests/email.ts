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
import type { ActiveTopic, News, NewsFor } from './news.ts';

/** Maximum length of the text of one message, in UTF-16 code units. */
const MAX_TEXT = 300;
/** Maximum length of the description of a channel, in UTF-16 code units. */
const MAX_DESCRIPTION = 200;
/** Number of senders of a topic whose names are shown. Further ones are counted. */
const MAX_NAMES = 3;

type MailApp = Pick<Runtime, 'config' | 'keys'>;

/** The parts of a digest. */
export interface Digest extends NewsFor {
  readonly news: News;
  /** Names of the senders. */
  readonly names: Names;
  /** Whether the email contains texts, names and places. Otherwise it contains only numbers. */
  readonly isShown: boolean;
  /** End of the subject, from `nameSuffix`. */
  readonly suffix: string;
}

/**
 * Returns the text with which a digest is queued. It is replaced when the digest is sent. Only nodes of version 0.2.0 send it,
 * during an upgrade.
 */
export const emptyDigest = (
  app: MailApp,
  organization: Organization,
  user: Pick<User, 'id' | 'email'>,
): UnsubscribableText => mailOf(app, organization, user, '', `See what is new in ${oneLine(organization.name)}.\n`);

/** Returns the email with the news of a user. */
export function digestMail(app: MailApp, digest: Digest): UnsubscribableText {
  const { organization, user, since, news, isShown, suffix } = digest;
  const { directCount, conversationCount } = news;
  const direct =
    directCount === 0
      ? []
      : [
          `You have ${countOf(directCount, 'unread direct message')} in ${countOf(conversationCount, 'conversation')}.\n`,
        ];
  const parts = isShown ? [...topicsOf(app, digest), ...channelsOf(app, digest)] : numbersOf(news);
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

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

/** Returns the lines about numbers of messages and channels, for digests without texts and names. */
const numbersOf = ({ topicCount, messageCount, channelCount }: News): string[] => [
  ...(topicCount === 0
    ? []
    : [`Your channels have ${countOf(messageCount, 'new message')} in ${countOf(topicCount, 'topic')}.\n`]),
  ...(channelCount === 0
    ? []
    : [`There ${channelCount === 1 ? 'is' : 'are'} ${countOf(channelCount, 'new channel')}.\n`]),
];

function topicsOf(app: MailApp, digest: Digest): string[] {
  const { topics, topicCount } = digest.news;
  const more = topicCount - topics.length;
  return [
    ...topics.map((topic) => topicText(app, digest, topic)),
    ...(more > 0 ? [`… and new messages in ${more === 1 ? 'one more topic' : `${more} more topics`}.\n`] : []),
  ];
}

function topicText(app: MailApp, digest: Digest, { messages, count, isCut, senderIds }: ActiveTopic): string {
  const { organization, user, names } = digest;
  const [first] = messages;
  const place = oneLine(placeOf(first, { organization, names, readerId: user.id }));
  const number = isCut ? `${count} or more messages` : countOf(count, 'message');
  const texts = messages.map(
    (message) =>
      `  ${nameOf(names, message.senderId)}, ${localTime(message.sentAt, user)}: ${cutTo(MAX_TEXT, oneLine(textOf(message)))}\n`,
  );
  return `${place}: ${number} by ${sendersOf(senderIds, names)}\n${texts.join('')}  ${urlOfMessage(app, organization, first)}\n`;
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
export const namedIn = ({ topics }: News): number[] => [
  ...new Set(
    topics.flatMap(({ messages, senderIds }) => [
      ...messages.map(({ senderId }) => senderId),
      ...senderIds.slice(0, MAX_NAMES),
    ]),
  ),
];

function channelsOf(app: MailApp, { organization, news: { channels, channelCount } }: Digest): string[] {
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
