import { signedIn } from '../access/context.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import { nodeOf } from '../api/graphql/schema/node.ts';
import { pageUrl } from '../channels/addresses.ts';
import type { Message as MessageRow } from '../generated/prisma/client.ts';
import { type HtmlParts, type Mention, partsOf } from '../markdown/html-parts.ts';
import { User } from '../people/graphql.ts';
import { Message } from './graphql.ts';
import { messageTexts } from './text-budget.ts';

const MentionType = builder.enumType('MentionType', {
  description: 'Type of a mention.',
  values: {
    USER: { value: 'user', description: 'A user, by name.' },
    GROUP: { value: 'group', description: 'The members of a group.' },
    CHANNEL: { value: 'channel', description: 'All members of the channel or conversation.' },
    TOPIC: { value: 'topic', description: 'All participants of the topic.' },
  } as const,
});

/** GraphQL type of a mention. The user groups of mentions are resolved where groups are defined. */
export const MessageMention = builder.objectRef<Mention>('MessageMention').implement({
  description: 'A mention in the content of a message.',
  fields: (t) => ({
    type: t.expose('type', {
      type: MentionType,
      description: 'Whether a user, a group, or all members of a channel or topic are mentioned.',
    }),
    user: t.field({
      type: User,
      nullable: true,
      description: 'The mentioned user. Null if the type of the mention is not USER.',
      resolve: ({ type, id }, _args, ctx) => nodeOf(ctx, 'User', type === 'user' ? id : null),
    }),
    isSilent: t.exposeBoolean('isSilent', {
      description:
        'Whether the mention notifies no user. Also true in quotes, and if the user or group was deactivated.',
    }),
  }),
});

interface Link {
  readonly text: string;
  readonly url: string;
}

const MessageLink = builder.objectRef<Link>('MessageLink').implement({
  description: 'A link in the content of a message.',
  fields: (t) => ({
    text: t.exposeString('text', { description: 'Text of the link.' }),
    url: t.exposeString('url', { description: 'Absolute URL of the target.' }),
  }),
});

interface Image {
  readonly url: string;
  readonly title: string | null;
}

const MessageImage = builder.objectRef<Image>('MessageImage').implement({
  description: 'An image that is shown below the content of a message.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Absolute URL of the image.' }),
    title: t.exposeString('title', {
      nullable: true,
      description: 'Text of the link to the image. Null if the link shows only its URL.',
    }),
  }),
});

const parsed = new WeakMap<object, HtmlParts>();

/** Returns the mentions, links and images of a message. Its HTML is parsed once for all fields. */
function partsIn(message: Pick<MessageRow, 'renderedContent'>): HtmlParts {
  const parts = parsed.get(message) ?? partsOf(message.renderedContent);
  parsed.set(message, parts);
  return parts;
}

/** Returns the absolute URL of a target in the HTML of a message, and counts its length in the response. */
function urlIn(ctx: GraphQLContext, href: string): string {
  const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(href);
  return messageTexts(ctx).taken(isAbsolute ? href : resolved(href, pageUrl(signedIn(ctx), '')));
}

const resolved = (href: string, base: string): string => (URL.canParse(href, base) ? new URL(href, base).href : href);

builder.prismaObjectFields(Message, (t) => ({
  mentions: t.field({
    type: [MessageMention],
    description:
      'Mentions in the content, each user, group, channel and topic once, in the order of the text. The length of the ' +
      'content, at most 10,000 characters, limits their number.',
    // Estimate: few messages mention more than 3 users. The users of a page of messages are loaded in one batch.
    complexity: { field: 1, multiplier: 3 },
    resolve: (message) => partsIn(message).mentions,
  }),
  links: t.field({
    type: [MessageLink],
    description:
      'Links in the content, in the order of the text. Includes links to channels, topics and messages. The length of ' +
      'the content, at most 10,000 characters, limits their number. A link that is shown as an image only is in `images`.',
    resolve: (message, _args, ctx) =>
      partsIn(message).links.map(({ text, href }) => ({ text: messageTexts(ctx).taken(text), url: urlIn(ctx, href) })),
  }),
  images: t.field({
    type: [MessageImage],
    description: 'Images to which the content links and that are shown below it, in the order of the text. At most 24.',
    resolve: (message, _args, ctx) =>
      partsIn(message).images.map(({ href, title }) => ({ title, url: urlIn(ctx, href) })),
  }),
}));
