import { type Ctx, signedIn } from '../../access/context.ts';
import { byKeyIfAny } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { type EventSource, eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodeModel } from '../../api/graphql/schema/node.ts';
import { type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { sortedPageOf } from '../../api/graphql/schema/sorted-list.ts';
import { Prisma } from '../../generated/prisma/client.ts';
import type { ListedRows } from '../../platform/db/places.ts';
import { BadImageError } from '../../platform/images/errors.ts';
import { userReference } from '../event-projections.ts';
import { User } from '../graphql.ts';
import { usersById } from '../loaders.ts';
import { addCustomEmoji, deactivateCustomEmoji, visibleTo } from './service.ts';
import { emojiImageUrl, emojiStillUrl, type WireCustomEmoji, type WireCustomEmojiMap } from './wire.ts';

/** Event projection (the fields that an event alone provides) of a custom emoji: all its fields. */
const emojiProjection = new EventProjection<WireCustomEmoji>(
  'CustomEmoji',
  { idOf: ({ id }) => Number(id) },
  {
    databaseId: ({ id }) => Number(id),
    name: ({ name }) => name,
    imageUrl: (emoji) => emoji.source_url,
    stillUrl: (emoji) => emoji.still_url,
    isActive: ({ deactivated }) => !deactivated,
    author: { projection: userReference, of: (emoji) => emoji.author_id },
  },
);

/** Event projection of a custom emoji that was deactivated: `id`, `databaseId`, and false as `isActive`. */
const deactivatedEmoji = new EventProjection<number>(
  'CustomEmoji',
  { idOf: (id) => id },
  { databaseId: (id) => id, isActive: () => false },
);

const NAME = 'Name of the emoji, which messages contain between colons.';
const ACTIVE = 'Whether the emoji is active. An inactive emoji is still shown, but cannot be used again.';
const AUTHOR = 'User who added the emoji. Null if the author is unknown.';
const IMAGE_URL = "URL of the image, relative to the organization's URL.";
const STILL_URL = 'URL of the first frame of an animated image. Null if the image is not animated.';

export const CustomEmoji = builder.prismaNode('CustomEmoji', {
  description: 'A custom emoji of the organization.',
  ...byNumber,
  fields: (t) => ({
    databaseId: t.exposeInt('id', {
      description: 'Id of the emoji in the REST API, where it is a string. Reactions contain it as `emojiCode`.',
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
  ID: { value: 'id', description: 'Creation order.' },
  NAME: { value: 'name', description: 'Name.' },
});

const EMOJI_ID = Prisma.sql`e.id`;
const COLUMNS = {
  id: { key: EMOJI_ID, keyType: 'number' },
  name: { key: Prisma.sql`e.sort_name`, name: Prisma.sql`e.name`, keyType: 'string' },
} as const;

const listedEmoji = ({ organizationId }: Ctx, isActive: boolean | null): ListedRows => ({
  from: Prisma.sql`custom_emoji e`,
  where: Prisma.sql`
    e.realm_id = ${organizationId} AND (${isActive}::boolean IS NULL OR (e.deactivated_at IS NULL) = ${isActive}::boolean)`,
});

const AS_ADDED: OrderBy<EmojiField> = { field: 'id', direction: 'asc' };

builder.queryField('customEmoji', (t) =>
  t.connection(
    {
      type: CustomEmoji,
      description: 'Custom emoji of the organization.',
      args: {
        orderBy: t.arg({
          type: CustomEmojiOrder,
          required: false,
          defaultValue: AS_ADDED,
          description: 'Sort order.',
        }),
        isActive: t.arg.boolean({
          required: false,
          description: 'true: only active emoji. false: only inactive emoji. Absent: both.',
        }),
      },
      resolve: (_root, { isActive, orderBy: by, ...args }, ctx, info) => {
        const request = signedIn(ctx);
        const [where, orderBy] = [visibleTo(request), by ?? AS_ADDED];
        const { keyType, ...column } = COLUMNS[orderBy.field];
        const rows = listedEmoji(request, isActive ?? null);
        const sorted = { list: 'emoji', orderBy, keyType, args } as const;
        return sortedPageOf('CustomEmoji', { ...sorted, rows, column, id: EMOJI_ID, where, ctx, info });
      },
    },
    CustomEmojiConnection,
  ),
);

mutation('addCustomEmoji', {
  scope: 'administration',
  description:
    'Adds a custom emoji. For users with the permission to add custom emoji. Only administrators can use the name ' +
    'of a built-in emoji. Animated images stay animated.',
  errors: [BadImageError],
  input: (t) => ({
    name: t.string({
      description:
        'Name of the emoji: lower-case letters, digits, dashes and underscores. Spaces are replaced by underscores.',
    }),
    image: t.field({ type: 'File', description: 'PNG, JPEG, WebP or GIF, at most 5 MiB.' }),
  }),
  payload: () => ({ customEmoji: { type: CustomEmoji, description: 'The new emoji.' } }),
  resolve: async (ctx, { name, image }) => ({ customEmoji: await addCustomEmoji(ctx, { name, file: image }) }),
});

mutation('deactivateCustomEmoji', {
  scope: 'administration',
  description:
    'Deactivates a custom emoji. It is still shown where it is already used. For administrators and the author of ' +
    'the emoji.',
  input: (t) => ({ name: t.string({ description: 'Name of the emoji.' }) }),
  payload: () => ({ customEmoji: { type: CustomEmoji, description: 'The deactivated emoji.' } }),
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
      ...projectedFromEvent(emojiProjection, ({ event }: EventSource<{ emoji: WireCustomEmoji }>) => event.emoji),
    }),
  }),
  {
    description:
      'A custom emoji was added. Not sent to queues that were registered over REST without the client capability ' +
      '`individual_emoji_changes`.',
    outdates: ['customEmoji'],
  },
);

eventType<{ emoji_id: string }>(
  'realm_emoji',
  'update_one',
  'CustomEmojiDeactivatedEvent',
  (t) => ({
    customEmoji: t.field({
      type: CustomEmoji,
      nullable: true,
      description: 'The deactivated emoji.',
      ...projectedFromEvent(deactivatedEmoji, ({ event }: EventSource<{ emoji_id: string }>) => Number(event.emoji_id)),
    }),
  }),
  {
    description:
      'A custom emoji was deactivated. Not sent to queues that were registered over REST without the client capability ' +
      '`individual_emoji_changes`.',
    outdates: ['customEmoji'],
  },
);

eventType<{ realm_emoji: WireCustomEmojiMap }>(
  'realm_emoji',
  'update',
  'CustomEmojiUpdatedEvent',
  (t) => ({
    allCustomEmoji: t.field({
      type: [CustomEmoji],
      nullable: { list: false, items: true },
      description: 'All custom emoji, including inactive ones.',
      ...projectedFromEvent(emojiProjection, ({ event }: EventSource<{ realm_emoji: WireCustomEmojiMap }>) =>
        Object.values(event.realm_emoji),
      ),
    }),
  }),
  {
    description:
      'A custom emoji was added or deactivated. Sent only to queues that were registered over REST without the client capability ' +
      '`individual_emoji_changes`.',
    outdates: ['customEmoji'],
  },
);
