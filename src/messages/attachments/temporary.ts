import { createHmac } from 'node:crypto';
import type { Ctx, Runtime } from '../../access/context.ts';
import type { Attachment } from '../../generated/prisma/client.ts';
import { NotFoundError } from '../../platform/errors.ts';
import { isSameSecret } from '../../platform/key-vault.ts';
import { accessFile } from './access.ts';
import { type Addressed, attachmentUrl } from './names.ts';

/** Time for which a temporary address is valid, in seconds. */
const VALID_SECONDS = 60;
const PURPOSE = 'temporary addresses of files';

/** Returns the temporary address of a file that the caller has access to. It is valid for 60 seconds. */
export function temporaryUrlOf({ keys, now }: Pick<Runtime, 'keys' | 'now'>, attachment: Addressed): string {
  const until = Math.floor(now().getTime() / 1000) + VALID_SECONDS;
  const [secret = ''] = keys.tokens(PURPOSE);
  return `${attachmentUrl(attachment)}?until=${until}&signature=${signature(secret, attachment, until)}`;
}

const signature = (secret: string, { organizationId, token }: Addressed, until: number): string =>
  createHmac('sha256', secret).update(`${organizationId} ${token} ${until}`).digest('base64url').slice(0, 32);

/** Returns whether the parameters of a temporary address are valid for a file now. */
export function isTemporary(
  { keys, now }: Pick<Runtime, 'keys' | 'now'>,
  attachment: Pick<Attachment, 'organizationId' | 'token' | 'pathName'>,
  { until, signature: shown }: { readonly until: string; readonly signature: string },
): boolean {
  if (!/^\d{1,12}$/.test(until) || Number(until) * 1000 <= now().getTime()) return false;
  return keys.tokens(PURPOSE).some((secret) => isSameSecret(shown, signature(secret, attachment, Number(until))));
}

/**
 * Returns a temporary address of the file at a path below `/user_uploads/`.
 *
 * @throws NotFoundError if the file does not exist or the viewer cannot read it.
 */
export async function temporaryUrl(ctx: Ctx, path: string): Promise<string> {
  const attachment = await accessFile(ctx, path);
  if (attachment === null) {
    throw new NotFoundError('File not found.', { type: 'Attachment', parameter: 'filename', status: 404 });
  }
  return temporaryUrlOf(ctx.app, attachment);
}
