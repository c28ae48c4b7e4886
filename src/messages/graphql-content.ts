import { signedIn } from '../access/context.ts';
import type { GraphQLContext } from '../api/graphql/loading/context.ts';
import { builder } from '../api/graphql/schema/builder.ts';
import { nodeOf } from '../api/graphql/schema/node.ts';
import { pageUrl } from '../channels/addresses.ts';
import type { Message as MessageRow } from '../generated/prisma/client.ts';
import { type HtmlParts, type HtmlPlayer, type Mention, partsOf } from '../markdown/html-parts.ts';
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
  readonly thumbnailUrl: string | null;
  readonly proxiedUrl: string | null;
  readonly width: number | null;
  readonly height: number | null;
}

const MessageImage = builder.objectRef<Image>('MessageImage').implement({
  description: 'An image that is shown within or below the content of a message.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Absolute URL of the image.' }),
    title: t.exposeString('title', {
      nullable: true,
      description:
        'Text of the link to the image, or alternative text of an image within the content. Null if the link shows only its URL, ' +
        'or there is no text.',
    }),
    thumbnailUrl: t.exposeString('thumbnailUrl', {
      nullable: true,
      description: 'Absolute URL of a reduced image. Null for an image of another website.',
    }),
    proxiedUrl: t.exposeString('proxiedUrl', {
      nullable: true,
      description:
        'Absolute URL from which clients load an image of another website: an address of this service, so that the website does ' +
        'not receive the network addresses of readers. No credentials are needed. Null for uploaded files and for content that ' +
        'an earlier version rendered.',
    }),
    width: t.exposeInt('width', {
      nullable: true,
      description: 'Width of the whole image in pixels. Null for an image of another website.',
    }),
    height: t.exposeInt('height', {
      nullable: true,
      description: 'Height of the whole image in pixels. Null for an image of another website.',
    }),
  }),
});

const MediaKind = builder.enumType('MessageMediaType', {
  description: 'Type of a file that is played.',
  values: {
    AUDIO: { value: 'audio', description: 'A sound, played within the content.' },
    VIDEO: { value: 'video', description: 'A video, played below the content.' },
  } as const,
});

interface Media extends Pick<HtmlPlayer, 'type' | 'title'> {
  readonly url: string;
}

const MessageMedia = builder.objectRef<Media>('MessageMedia').implement({
  description: 'An uploaded sound or video that is played with the content of a message.',
  fields: (t) => ({
    type: t.expose('type', { type: MediaKind, description: 'Whether the file is a sound or a video.' }),
    url: t.exposeString('url', { description: 'Absolute URL of the file. It supports range requests.' }),
    title: t.exposeString('title', { nullable: true, description: 'Name of a sound. Null for a video.' }),
  }),
});

interface Preview {
  readonly url: string;
  readonly title: string;
  readonly description: string;
  readonly imageUrl: string | null;
}

const LinkPreview = builder.objectRef<Preview>('LinkPreview').implement({
  description: 'A preview of a web page to which a message links. Title and description come from the page.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'Absolute URL of the page, as in the message.' }),
    title: t.exposeString('title', { description: 'Title of the page, at most 200 characters.' }),
    description: t.exposeString('description', {
      description: 'Description of the page, at most 500 characters. "" if the page has none.',
    }),
    imageUrl: t.exposeString('imageUrl', {
      nullable: true,
      description:
        'Absolute URL of an image of the page, at an address of this service that needs no credentials. Null if the page has none.',
    }),
  }),
});

const parsed = new WeakMap<object, HtmlParts>();

/** Returns the mentions, links, images, players and page previews of a message. Its HTML is parsed once for all fields. */
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
    description:
      'Uploaded images within the content, and images to which it links and that are shown below it, in the order of the text. ' +
      'At most 24 are shown below it. Its length, at most 10,000 characters, limits the number of the others.',
    resolve: (message, _args, ctx) =>
      partsIn(message).images.map(({ href, title, thumbnail, proxied }) => ({
        title,
        url: urlIn(ctx, href),
        thumbnailUrl: thumbnail === null ? null : urlIn(ctx, thumbnail.href),
        proxiedUrl: proxied === null ? null : urlIn(ctx, proxied),
        width: thumbnail?.width ?? null,
        height: thumbnail?.height ?? null,
      })),
  }),
  media: t.field({
    type: [MessageMedia],
    description:
      'Uploaded sounds that the content contains, and uploaded videos to which it links and that are shown below it, in the order ' +
      'of the text. The length of the content, at most 10,000 characters, limits their number.',
    resolve: (message, _args, ctx) =>
      partsIn(message).players.map(({ type, href, title }) => ({
        type,
        url: urlIn(ctx, href),
        title: title === null ? null : messageTexts(ctx).taken(title),
      })),
  }),
  linkPreviews: t.field({
    type: [LinkPreview],
    description:
      'Previews of web pages to which the content links, in the order of the text. At most 24. They are added shortly after ' +
      'the message was sent or edited, with a MessageUpdatedEvent whose `isRenderingOnly` is true, if the organization has ' +
      'enabled `inline_url_embed_preview`. Messages of bots have none.',
    resolve: (message, _args, ctx) =>
      partsIn(message).embeds.map(({ url, title, description, image }) => ({
        url: urlIn(ctx, url),
        title: messageTexts(ctx).taken(title),
        description: messageTexts(ctx).taken(description),
        imageUrl: image === null ? null : urlIn(ctx, image),
      })),
  }),
}));
