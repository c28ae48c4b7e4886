import type { Ctx, Runtime } from '../../access/context.ts';
import { type Attachment, Prisma } from '../../generated/prisma/client.ts';
import type { Tx } from '../../platform/db/client.ts';
import { readRows } from '../../platform/db/rows.ts';
import { type MessageReader, readableIn } from '../access.ts';
import { type Addressed, pathIdOf } from './names.ts';

/** Number of messages that are checked in one step. The newest messages are checked first. */
const MESSAGES_PER_STEP = 100;
/** Maximum number of steps. A user who can read none of the messages in these steps cannot read the file. */
const MAX_STEPS = 10;

/** The users whose access to a file is checked. */
export type FileReader = Pick<MessageReader, 'id' | 'role' | 'organization' | 'user'>;

/**
 * Returns whether a user can read a file. Its owner can, and users who can read one of the messages that link to it. Only
 * current rights count, so access ends as soon as the user cannot read any of these messages.
 */
export async function mayReadFile(
  db: Pick<Tx, 'userGroup' | '$queryRaw'>,
  app: Pick<Runtime, 'now'>,
  reader: FileReader,
  { organizationId, id, ownerId }: Pick<Attachment, 'organizationId' | 'id' | 'ownerId'>,
): Promise<boolean> {
  if (organizationId !== reader.organization.id) return false;
  if (ownerId === reader.id) return true;
  let before = Number.MAX_SAFE_INTEGER;
  for (let step = 0; step < MAX_STEPS; step++) {
    const rows = await readRows<{ message_id: bigint }>(
      db,
      Prisma.sql`
      SELECT message_id FROM attachment_link
      WHERE realm_id = ${organizationId} AND attachment_id = ${id} AND message_id < ${before}
      ORDER BY message_id DESC LIMIT ${MESSAGES_PER_STEP}`,
    );
    const ids = rows.map((row) => Number(row.message_id));
    if (ids.length === 0) return false;
    const readable = await readableIn(db, app, [reader], ids);
    if ((readable.get(reader.id)?.size ?? 0) > 0) return true;
    if (ids.length < MESSAGES_PER_STEP) return false;
    before = ids.at(-1) as number;
  }
  return false;
}

/**
 * Reads the file at an address, if the viewer can read it. Null if it does not exist or the viewer cannot read it.
 *
 * @param path Path below `/user_uploads/`, decoded.
 */
export async function accessFile(
  { app, work, viewer }: Pick<Ctx, 'app' | 'work' | 'viewer'>,
  path: string,
): Promise<Attachment | null> {
  const found = await fileAt(work.db, viewer.organization.id, path);
  return found !== null && (await mayReadFile(work.db, app, viewer, found)) ? found : null;
}

/** Reads the complete file at a path below `/user_uploads/` without checking access. Null if there is none. */
export async function fileAt(
  db: Pick<Tx, 'attachment'>,
  organizationId: number,
  path: string,
): Promise<Attachment | null> {
  const [, , token = ''] = path.split('/');
  if (token === '') return null;
  const found = await db.attachment.findFirst({ where: { organizationId, token, isComplete: true } });
  return found !== null && isAt(found, path) ? found : null;
}

/** Returns whether a path is that of the file. Names can be in another Unicode form than the stored one. */
const isAt = (attachment: Addressed, path: string): boolean =>
  pathIdOf(attachment).normalize('NFKC') === path.normalize('NFKC');
