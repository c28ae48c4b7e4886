import { PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import { PNG } from '../helpers/pictures.ts';
import { type Hoard, heldBy } from '../helpers/piles.ts';

/** Paths below `/user_uploads/` of the files that `objects` uploaded, by id. */
const paths = new Map<number, string>();

const slotsOf = (path = '') => {
  const [realm = '', ...rest] = path.split('/');
  return { realm_id: Number(realm), filename: rest.join('/') };
};

/** A file that the service stores unchanged, because it is not an image. */
const NOTE = Buffer.from('note '.repeat(200));

const FILES = {
  fill: `INSERT INTO attachment (realm_id, owner_id, token, name, path_name, media_type, size, created_at, is_complete, unclaimed_since)
    SELECT $1, $2, 'token' || n, 'x', 'x', 'text/plain', $4::bigint, now(), true, now() FROM generate_series(1, $3::int) AS n`,
  rest: ({ member }: Hoard) => member.rest('POST', '/user_uploads', { file: PNG }),
  graphql: () => ['uploadFile', { file: PNG, name: 'red.png' }] as const,
  free: "DELETE FROM attachment WHERE realm_id = $1 AND owner_id = $2 AND token = 'token1'",
};

export const attachments: FeatureTests = {
  rest: {
    'POST /user_uploads': () => [{ parameters: { file: PNG } }],
    'GET /user_uploads/{realm_id}/{filename}': ({ attachmentId }) => [{ slots: slotsOf(paths.get(attachmentId)) }],
    'GET /attachments': () => [{}],
    'DELETE /attachments/{attachment_id}': ({ attachmentId }) => [{ slots: { attachment_id: attachmentId } }],
  },
  queries: {
    attachments: () => [{ ...PAGE, orderBy: { field: 'ID', direction: 'ASC' } }],
    uploadSpaceUsed: () => [{}],
  },
  mutations: {
    uploadFile: () => [{ file: PNG, name: 'red.png' }],
    deleteAttachment: ({ attachmentId }) => [{ attachmentId }],
  },
  nodes: ({ attachmentId }) => ({ Attachment: attachmentId }),
  piles: {
    attachments: {
      ...FILES,
      fill: ({ sql }) => sql(FILES.fill, 20_000, 1),
      held: heldBy('attachment', 'owner_id = $1'),
    },
    attachments_total_mib: {
      ...FILES,
      // The first file, which `free` deletes, is as large as one of the uploads.
      fill: ({ sql }) =>
        sql(
          FILES.fill.replace('$4::bigint', `CASE n WHEN 1 THEN ${NOTE.length} ELSE $4::bigint - ${NOTE.length} END`),
          ...[2, 5_120 * 1024 * 1024],
        ),
      rest: ({ member }) => member.rest('POST', '/user_uploads', { file: NOTE }),
      graphql: () => ['uploadFile', { file: NOTE, name: 'note.txt' }],
      held: heldBy('attachment', 'owner_id = $1', 'ceil(sum(size) / 1048576.0)'),
    },
  },
  objects: {
    attachmentId: async (owner, { text }) => {
      const { url } = await owner.ok('POST', '/user_uploads', { file: Buffer.from(text) });
      const path = url.slice('/user_uploads/'.length);
      const { attachments } = await owner.ok('GET', '/attachments');
      const { id } = attachments.find((one: { path_id: string }) => one.path_id === path);
      paths.set(id, path);
      return id;
    },
  },
  rules: {
    'attachment/add': (state, { upload_space_used }) => {
      state['upload_space_used'] = upload_space_used;
    },
    'attachment/update': (state, { upload_space_used }) => {
      state['upload_space_used'] = upload_space_used;
    },
    'attachment/remove': (state, { upload_space_used }) => {
      state['upload_space_used'] = upload_space_used;
    },
  },
};

declare module '../helpers/scene.ts' {
  interface Names {
    readonly attachmentId: number;
  }
}
