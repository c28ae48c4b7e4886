import type { App } from '../../access/context.ts';
import type { Web } from '../../api/rest/router.ts';
import { FOR_EVER, imageAnswer, noImage, realmAt } from '../avatars/image-reply.ts';

const UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';

/**
 * Adds the images of custom emoji. They need no credentials, because image tags send none: only users of the
 * organization receive the unguessable id.
 */
export function addCustomEmoji(web: Web, app: App): void {
  for (const form of ['bytes', 'reduced'] as const) {
    web.get(`/emoji/:image{${UUID}}${form === 'reduced' ? '/still' : ''}`, async ({ req }) => {
      const realm = await realmAt(app, req.header('host'));
      const where = { id: req.param('image'), realmId: realm?.id ?? 0, emoji: { some: {} } };
      const select = { mediaType: true, bytes: form === 'bytes', reduced: form === 'reduced' };
      const image = await app.db.image.findFirst({ where, select });
      const bytes = image?.[form];
      return image == null || bytes == null ? noImage() : imageAnswer({ mediaType: image.mediaType, bytes }, FOR_EVER);
    });
  }
}
