import { signedIn } from '../../access/context.ts';
import { builder } from '../../api/graphql/builder.ts';
import { pageOf } from '../../api/graphql/connection.ts';
import { fromEvent } from '../../api/graphql/entity-facts.ts';
import { type EventSource, eventType } from '../../api/graphql/event-types.ts';
import { mutation } from '../../api/graphql/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/order-by.ts';
import { byKeyIfAny } from '../../api/graphql/together.ts';
import { UnauthorizedPrincipalError } from '../../platform/errors.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { User } from '../graphql.ts';
import { usersById } from '../loaders.ts';
import { emojiFacts, emojiOutOfUse } from './entity-facts.ts';
import { addCustomEmoji, deactivateCustomEmoji, visibleTo } from './service.ts';
import { emojiImageUrl, emojiStillUrl, type WireCustomEmoji, type WireCustomEmojiMap } from './wire.ts';

const NAME = 'What it is called, between colons in messages.';
const ACTIVE = 'False where it may only be shown, not used anew.';
const AUTHOR = 'Who added it; null when nobody is known to have.';
const IMAGE_URL = 'Where its image is, relative to the address of the organization.';
const STILL_URL = 'Where its first frame is; null for an image that does not move.';

export const CustomEmoji = builder.prismaNode('CustomEmoji', {
  description: "An emoji of the organization's own.",
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', {
      description: 'The number that the REST API knows it by, there a text. It is `emojiCode` in reactions.',
    }),
    name: t.exposeString('name', { description: NAME }),
    imageUrl: t.string({ description: IMAGE_URL, resolve: ({ imageId }) => emojiImageUrl(imageId) }),
    stillUrl: t.string({ nullable: true, description: STILL_URL, resolve: emojiStillUrl }),
    isActive: t.boolean({
      description: ACTIVE,
      resolve: ({ deactivatedAt }) => deactivatedAt === null,
    }),
    author: t.field({
      type: User,
      nullable: true,
      description: AUTHOR,
      resolve: byKeyIfAny(usersById, ({ authorId }) => authorId),
    }),
  }),
});
nodeModel('CustomEmoji', 'CustomEmoji', visibleTo);

const CustomEmojiConnection = builder.connectionObject(
  { type: CustomEmoji, name: 'CustomEmojiConnection' },
  { name: 'CustomEmojiEdge' },
);

type EmojiField = 'id' | 'name';

const CustomEmojiOrder = orderInput<EmojiField>('CustomEmoji', 'custom emoji', {
  ID: { value: 'id', description: 'The order in which they were added.' },
  NAME: { value: 'name', description: 'What they are called.' },
});

const AS_ADDED: OrderBy<EmojiField> = { field: 'id', direction: 'asc' };

builder.queryField('customEmoji', (t) =>
  t.connection(
    {
      type: CustomEmoji,
      description: "The organization's own emoji.",
      args: {
        orderBy: t.arg({
          type: CustomEmojiOrder,
          required: false,
          defaultValue: AS_ADDED,
          description: 'How they are sorted.',
        }),
        isActive: t.arg.boolean({
          required: false,
          description: 'True for those in use alone, false for those out of use alone.',
        }),
      },
      resolve: (_root, { isActive, orderBy, ...args }, ctx, info) => {
        const filter = isActive == null ? {} : { deactivatedAt: isActive ? null : { not: null } };
        const where = { AND: [visibleTo(signedIn(ctx)), filter] };
        return pageOf('CustomEmoji', { where, order: columnsBy(orderBy ?? AS_ADDED), args, ctx, info });
      },
    },
    CustomEmojiConnection,
  ),
);

mutation('addCustomEmoji', {
  description:
    'Adds an emoji. For those who may; for administrators, where a built-in emoji has the name. An animated image stays so.',
  errors: [UnauthorizedPrincipalError, BadImageError],
  input: (t) => ({
    name: t.string({
      description: 'Lower-case letters, digits, dashes and underscores; spaces become underscores.',
    }),
    image: t.field({ type: 'File', description: 'PNG, JPEG, WebP or GIF, of 5 MiB at most.' }),
  }),
  payload: () => ({ customEmoji: { type: CustomEmoji, description: 'The new emoji.' } }),
  resolve: async (ctx, { name, image }) => ({ customEmoji: await addCustomEmoji(ctx, { name, file: image }) }),
});

mutation('deactivateCustomEmoji', {
  description:
    'Takes an emoji out of use. Where it stands already it is still shown. For administrators, and for who added it.',
  input: (t) => ({ name: t.string({ description: 'What it is called.' }) }),
  payload: () => ({ customEmoji: { type: CustomEmoji, description: 'The emoji, out of use.' } }),
  resolve: async (ctx, { name }) => ({ customEmoji: await deactivateCustomEmoji(ctx, name) }),
});

eventType<{ emoji: WireCustomEmoji }>(
  'realm_emoji',
  'add',
  'CustomEmojiAddedEvent',
  (t) => ({
    customEmoji: t.field({
      type: CustomEmoji,
      nullable: true,
      description: 'The new emoji.',
      ...fromEvent(emojiFacts, ({ event }: EventSource<{ emoji: WireCustomEmoji }>) => event.emoji),
    }),
  }),
  { description: 'An emoji was added. For queues with `individualEmojiChanges`.' },
);

eventType<{ emoji_id: string }>(
  'realm_emoji',
  'update_one',
  'CustomEmojiDeactivatedEvent',
  (t) => ({
    customEmoji: t.field({
      type: CustomEmoji,
      nullable: true,
      description: 'The emoji that is out of use.',
      ...fromEvent(emojiOutOfUse, ({ event }: EventSource<{ emoji_id: string }>) => Number(event.emoji_id)),
    }),
  }),
  { description: 'An emoji was taken out of use. For queues with `individualEmojiChanges`.' },
);

eventType<{ realm_emoji: WireCustomEmojiMap }>(
  'realm_emoji',
  'update',
  'CustomEmojiUpdatedEvent',
  (t) => ({
    allCustomEmoji: t.field({
      type: [CustomEmoji],
      nullable: { list: false, items: true },
      description: 'All there are, those out of use included.',
      ...fromEvent(emojiFacts, ({ event }: EventSource<{ realm_emoji: WireCustomEmojiMap }>) =>
        Object.values(event.realm_emoji),
      ),
    }),
  }),
  {
    description: 'An emoji was added or taken out of use: all there are. For queues without `individualEmojiChanges`.',
  },
);
