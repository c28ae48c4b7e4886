import type { Runtime } from '../../access/context.ts';
import { localTime } from '../../access/local-time.ts';
import type { Organization, User } from '../../generated/prisma/client.ts';
import { urlOf } from '../../platform/hosts.ts';
import type { PlacedMessage } from '../access.ts';
import { type Names, placeOf, textOf, urlOfMessage } from './content.ts';
import { cutTo, showsContent, type UnsubscribableText } from './mail-parts.ts';
import { unsubscribeUrl } from './unsubscribe.ts';

/** Number of messages whose text an email contains. Further ones are counted. */
const MAX_SHOWN = 20;
/** Maximum length of the text of one message in an email, in UTF-16 code units. */
const MAX_TEXT = 2_000;
/** Maximum length of the subject, in UTF-16 code units. */
const MAX_SUBJECT = 200;

/** Messages of one topic or direct conversation that a user has missed, oldest first. */
export interface Missed {
  readonly user: User;
  readonly organization: Organization;
  readonly messages: readonly [PlacedMessage, ...PlacedMessage[]];
  /** Reasons of the notifications. */
  readonly reasons: readonly string[];
  readonly names: Names;
  /** End of the subject, from `nameSuffix`. */
  readonly suffix: string;
}

/**
 * Returns the email about messages that a user has missed in one topic or conversation. If a setting of the organization or the
 * user excludes the text of messages from emails, the email contains only their number.
 */
export function missedMail(app: Pick<Runtime, 'config' | 'keys'>, missed: Missed): UnsubscribableText {
  const { user, organization, messages } = missed;
  const isShown = showsContent(organization, user);
  const unsubscribe = unsubscribeUrl(app, 'missed', organization, user);
  const url = isShown ? urlOfMessage(app, organization, messages[0]) : `${urlOf(app.config, organization.subdomain)}/`;
  const count = messages.length === 1 ? 'one new message' : `${messages.length} new messages`;
  const text = isShown
    ? textsOf(missed)
    : `You have ${count}. This email does not show them, because your settings or those of the organization turn this off.\n`;
  return {
    subject: subjectOf(missed, isShown),
    body: `${text}
Open the conversation: ${url}

--
You receive this email because ${reasonOf(missed)}.
Stop these emails: ${unsubscribe}
`,
    unsubscribeUrl: unsubscribe,
  };
}

function subjectOf(missed: Missed, isShown: boolean): string {
  const { user, messages, suffix } = missed;
  if (!isShown) return `New messages${suffix}`;
  const place = placeOf(messages[0], { ...missed, readerId: user.id });
  const subject = messages[0].channel === null ? `Direct messages with ${place}` : place;
  return `${cutTo(MAX_SUBJECT, subject)}${suffix}`;
}

function textsOf({ messages, names, user }: Missed): string {
  const shown = messages.slice(0, MAX_SHOWN).map((message) => {
    const text = cutTo(MAX_TEXT, textOf(message));
    return `${names.get(message.senderId)?.fullName ?? ''}, ${localTime(message.sentAt, user)}:\n${text}\n`;
  });
  const more = messages.length - shown.length;
  return `${shown.join('\n')}${more > 0 ? `\n… and ${more} more\n` : ''}`;
}

const REASON_TEXTS: Readonly<Record<string, string>> = {
  direct: 'you have missed direct messages',
  mention: 'you were mentioned',
  wildcard: 'all users of the channel or topic were mentioned',
  followed_topic: 'you follow the topic',
  channel: 'you have turned on email notifications for the channel',
};

const reasonOf = ({ reasons }: Missed): string =>
  Object.entries(REASON_TEXTS).find(([reason]) => reasons.includes(reason))?.[1] ?? 'you have missed messages';
