import { signedIn } from '../../access/context.ts';
import { batchResolver, byKey } from '../../api/graphql/loading/batch-resolvers.ts';
import { builder } from '../../api/graphql/schema/builder.ts';
import { pageOf } from '../../api/graphql/schema/connection.ts';
import { errorType } from '../../api/graphql/schema/errors.ts';
import { EventProjection, projectedFromEvent } from '../../api/graphql/schema/event-projections.ts';
import { eventType } from '../../api/graphql/schema/event-types.ts';
import { mutation } from '../../api/graphql/schema/mutation.ts';
import { byNumber, nodesOf, nodeTypeForEach } from '../../api/graphql/schema/node.ts';
import { columnsBy, type OrderBy, orderInput } from '../../api/graphql/schema/order-by.ts';
import { refersTo } from '../../api/graphql/schema/refs.ts';
import type { Attachment as AttachmentRow } from '../../generated/prisma/client.ts';
import { userReference } from '../../people/event-projections.ts';
import { User } from '../../people/graphql.ts';
import { usersById } from '../../people/loaders.ts';
import { ANIMATED_PREVIEW_FORMAT, PREVIEW_FORMAT } from '../../platform/images/thumbnails.ts';
import { Message } from '../graphql.ts';
import { UploadQuotaError } from './errors.ts';
import type { AttachmentSnapshot } from './events.ts';
import { attachmentsOf, linkingMessageIds, readableFilesFor } from './loaders.ts';
import { attachmentUrl, linkOf, thumbnailUrl } from './names.ts';
import { deleteAttachment, ownSpaceUsed, uploadBytes, visibleTo } from './service.ts';
import { temporaryUrlOf } from './temporary.ts';

errorType(UploadQuotaError, "The upload would exceed the organization's disk space for files.");

const ThumbnailSize = builder.enumType('ThumbnailSize', {
  description: 'Size of a thumbnail. Smaller images keep their size.',
  values: {
    SMALL: { value: 'small', description: 'At most 300 by 200 pixels.' },
    MEDIUM: { value: 'medium', description: 'At most 840 by 560 pixels. Has all frames of an animated image.' },
  } as const,
});

interface Pictured {
  readonly width: number | null;
  readonly isAnimated: boolean;
}

/** Returns the name of the thumbnail format for a size. Undefined if the file has no thumbnails. */
function formatOf({ width, isAnimated }: Pictured, size: unknown): string | undefined {
  if (width === null) return undefined;
  if (size === 'small' || size === 'SMALL') return '300x200.webp';
  return isAnimated ? ANIMATED_PREVIEW_FORMAT : PREVIEW_FORMAT;
}

const urlOf = ({ path_id }: AttachmentSnapshot) => `/user_uploads/${path_id}`;

/** Event projection (the fields that an event alone provides) of an attachment. */
const attachmentProjection = new EventProjection<AttachmentSnapshot>(
  'Attachment',
  { idOf: ({ id }) => id },
  {
    databaseId: ({ id }) => id,
    name: ({ name }) => name,
    url: urlOf,
    markdown: (snapshot) => linkOf(snapshot.name, urlOf(snapshot)),
    size: ({ size }) => size,
    mediaType: ({ media_type }) => media_type,
    width: ({ width }) => width,
    height: ({ height }) => height,
    isAnimated: ({ is_animated }) => is_animated,
    thumbnailUrl: (snapshot, { size }) => {
      const format = formatOf({ width: snapshot.width, isAnimated: snapshot.is_animated }, size);
      return format === undefined ? null : `/user_uploads/thumbnail/${snapshot.path_id}/${format}`;
    },
    createdAt: ({ created_at }) => new Date(created_at),
    owner: { projection: userReference, of: ({ owner_id }) => owner_id },
  },
);

export const Attachment = builder.prismaNode('Attachment', {
  ...byNumber,
  description: 'An uploaded file. Its owner, and the readers of the messages that link to it, can read it.',
  fields: (t) => ({
    databaseId: t.exposeInt('id', { description: 'Id in the REST API.' }),
    name: t.exposeString('name', { description: 'Name of the file, at most 100 characters.' }),
    url: t.string({
      description:
        "Path of the file on the organization's host. Requests require the session cookie or an API key. Range requests are " +
        'supported.',
      resolve: attachmentUrl,
    }),
    markdown: t.string({
      description: 'Link to the file, to be inserted into a message. A linked image is shown below the message.',
      resolve: (attachment) => linkOf(attachment.name, attachmentUrl(attachment)),
    }),
    temporaryUrl: t.string({
      description:
        "Path of the file on the organization's host, at which it can be read without authentication for 60 seconds.",
      resolve: (attachment, _args, { app }) => temporaryUrlOf(app, attachment),
    }),
    size: t.int({ description: 'Size in bytes.', resolve: ({ size }) => Number(size) }),
    mediaType: t.exposeString('mediaType', { description: 'Media type, detected from the content.' }),
    width: t.exposeInt('width', {
      nullable: true,
      description: 'Width in pixels. Null if the file is not an image, or has no thumbnail.',
    }),
    height: t.exposeInt('height', {
      nullable: true,
      description: 'Height in pixels. Null if the file is not an image, or has no thumbnail.',
    }),
    isAnimated: t.exposeBoolean('isAnimated', { description: 'Whether the file is an image with several frames.' }),
    thumbnailUrl: t.string({
      nullable: true,
      description: "Path of a reduced image on the organization's host, in WebP. Null if the file has no thumbnail.",
      args: {
        size: t.arg({
          type: ThumbnailSize,
          required: false,
          defaultValue: 'medium',
          description: 'Size of the image.',
        }),
      },
      resolve: (attachment, { size }) => {
        const format = formatOf(attachment, size);
        return format === undefined ? null : thumbnailUrl(attachment, format);
      },
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime', description: 'Time of the upload.' }),
    owner: t.field({
      type: User,
      description: 'User who uploaded the file.',
      resolve: byKey(usersById, ({ ownerId }) => ownerId),
    }),
    messages: t.field({
      type: [Message],
      description:
        'Messages that link to the file and that the viewer can read, newest first, at most 100. Only the newest 100 messages ' +
        'with a link are considered.',
      complexity: { field: 2, multiplier: 10 },
      resolve: async ({ id }, _args, ctx) => nodesOf(ctx, 'Message', await linkingMessageIds(ctx).load(id)),
    }),
  }),
});
nodeTypeForEach('Attachment', readableFilesFor);

builder.prismaObjectField(Message, 'attachments', (t) =>
  t.field({
    type: [Attachment],
    description: 'Uploaded files to which the message links, at most 50, in the order of their upload.',
    complexity: { field: 1, multiplier: 2 },
    resolve: batchResolver<{ id: bigint; hasAttachment: boolean }, readonly AttachmentRow[]>(async (messages, ctx) => {
      const found = await attachmentsOf(ctx).loadAll(
        messages.map(({ id, hasAttachment }) => (hasAttachment ? Number(id) : null)),
      );
      return found.map((files) => files ?? []);
    }),
  }),
);

const AttachmentConnection = builder.connectionObject(
  { type: Attachment, name: 'AttachmentConnection' },
  { name: 'AttachmentEdge' },
);

type AttachmentField = 'id';

const AttachmentOrder = orderInput<AttachmentField>('Attachment', 'files', {
  ID: { value: 'id', description: 'Order of upload.' },
});

const NEWEST_FIRST: OrderBy<AttachmentField> = { field: 'id', direction: 'desc' };

builder.queryField('attachments', (t) =>
  t.connection(
    {
      type: Attachment,
      description: 'Files that the viewer uploaded.',
      args: {
        orderBy: t.arg({
          type: AttachmentOrder,
          required: false,
          defaultValue: NEWEST_FIRST,
          description: 'Sort order.',
        }),
      },
      resolve: (_root, { orderBy, ...args }, ctx, info) => {
        const where = visibleTo(signedIn(ctx));
        return pageOf('Attachment', { where, order: columnsBy(orderBy ?? NEWEST_FIRST), args, ctx, info });
      },
    },
    AttachmentConnection,
  ),
);

builder.queryField('uploadSpaceUsed', (t) =>
  t.field({
    type: 'LongId',
    nullable: true,
    description: 'Size of all files that the viewer uploaded, in bytes. Null, with an error, only if reading failed.',
    resolve: (_root, _args, ctx) => ownSpaceUsed(signedIn(ctx)),
  }),
);

mutation('uploadFile', {
  description:
    'Uploads a file, to which messages can then link. Files of more than 5 MiB can be uploaded with the tus protocol, at ' +
    '`/tus`. A file to which no message, draft or scheduled message links is deleted after two weeks.',
  errors: [UploadQuotaError],
  input: (t) => ({
    file: t.field({ type: 'File', description: 'The file, at most 5 MiB.' }),
    name: t.string({ description: 'Name of the file. Folders and invisible characters are removed.' }),
  }),
  payload: () => ({ attachment: { type: Attachment, description: 'The uploaded file.' } }),
  resolve: async (ctx, { file, name }) => ({ attachment: await uploadBytes(ctx, name, file) }),
});

mutation('deleteAttachment', {
  description: "Deletes one of the viewer's files. Links to it in messages stay, but no longer work.",
  input: (t) => ({
    attachmentId: t.id({ ...refersTo('Attachment'), description: "Id of one of the viewer's files." }),
  }),
  payload: () => ({
    attachmentId: { type: 'ID', refersTo: 'Attachment', description: 'Id of the deleted file.' },
  }),
  resolve: async (ctx, { attachmentId }) => {
    await deleteAttachment(ctx, attachmentId);
    return { attachmentId };
  },
});

const SPACE = "Size of all of the user's files, in bytes.";

for (const { op, name, shown, description, outdates } of [
  {
    ...{ op: 'add', name: 'AttachmentAddedEvent', shown: 'The uploaded file.' },
    ...{ description: 'The user uploaded a file.', outdates: ['attachments', 'uploadSpaceUsed'] },
  },
  {
    ...{ op: 'update', name: 'AttachmentUpdatedEvent', shown: 'The file.', outdates: [] },
    ...{ description: 'A message now links to a file of the user, or no longer links to it.' },
  },
]) {
  eventType<{ upload_space_used: number }>(
    'attachment',
    op,
    name,
    (t) => ({
      attachment: t.field({
        type: Attachment,
        nullable: true,
        description: shown,
        ...projectedFromEvent(attachmentProjection),
      }),
      uploadSpaceUsed: t.field({
        type: 'LongId',
        description: SPACE,
        resolve: ({ event }) => event.upload_space_used,
      }),
    }),
    { description, outdates },
  );
}

eventType<{ attachment: { id: number }; upload_space_used: number }>(
  'attachment',
  'remove',
  'AttachmentRemovedEvent',
  (t) => ({
    attachmentId: t.id({
      ...refersTo('Attachment'),
      description: 'Id of the deleted file.',
      resolve: ({ event }) => event.attachment.id,
    }),
    uploadSpaceUsed: t.field({ type: 'LongId', description: SPACE, resolve: ({ event }) => event.upload_space_used }),
  }),
  { description: 'A file of the user was deleted.', outdates: ['attachments', 'uploadSpaceUsed'] },
);
